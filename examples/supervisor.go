// Many runs of the Codex CLI behind one pipe. Go 1.19 or later, the standard library only.
//
//	go run supervisor.go 'Fix the failing test' 'Write the missing docs' -- --max-runs 8 --idle-timeout 300
//
// One run for each prompt; what follows `--` are options of `codex-adapter serve`. Exit status: 0 when every run
// completed its turn, 130 or 143 after SIGINT or SIGTERM, else 1.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	credit   = 64               // events of one run that may wait here; while they do, that run is held up, and no other
	patience = 30 * time.Second // after which a daemon that was to stop, and has not, is killed
)

type object = map[string]any

// A message of the daemon: an answer when it has no method, else a notification.
type message struct {
	ID     *int64          `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *refusal        `json:"error"`
}

type params struct {
	RunID      string      `json:"runId"`
	Event      *event      `json:"event"`
	Completion *completion `json:"completion"`
}

type event struct {
	Kind    string  `json:"kind"`
	Text    *string `json:"text"`
	Message *string `json:"message"`
	Data    struct {
		Tool struct{ Kind, Status string } `json:"tool"`
	} `json:"data"`
}

type completion struct {
	OK        bool    `json:"ok"`      // the turn completed and the agent exited with 0
	Outcome   string  `json:"outcome"` // "completed", or "failed" with an error in place of all else
	Turn      string  `json:"turn"`    // "completed", "failed", "cut_off" or, where no turn began, ""
	FinalText *string `json:"final_text"`
	Error     struct{ Kind, Message string }
}

type refusal struct {
	Code    int
	Message string
	Data    struct{ Kind, Hint, Advice string }
}

func (r *refusal) Error() string { return fmt.Sprintf("refused %s %q", r.Data.Kind, r.Message) }

var errGone = errors.New("the daemon has closed its output")

// Daemon is a `codex-adapter serve` under way. Its methods may be called from any goroutine.
type Daemon struct {
	command *exec.Cmd
	gone    chan struct{} // closed when the daemon will say no more
	broken  error         // why, when it was no message that it said; read it after `gone`

	writing sync.Mutex
	stdin   io.WriteCloser

	mutex  sync.Mutex // of all below
	lastID int64
	calls  map[int64]chan message
	runs   map[string]chan params
}

// Start starts a daemon.
func Start(options ...string) (*Daemon, error) {
	command := exec.Command("codex-adapter", append([]string{"serve"}, options...)...)
	command.Stderr = os.Stderr
	// In a process group of its own, so that Ctrl-C reaches only us, and it is we who say what it means. When we die,
	// in whatever way, the daemon finds its stdin at its end, cancels its runs and exits.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	daemon := &Daemon{
		command: command, stdin: stdin, gone: make(chan struct{}),
		calls: map[int64]chan message{}, runs: map[string]chan params{},
	}
	go daemon.read(bufio.NewReader(stdout))
	return daemon, nil
}

func (d *Daemon) read(stdout *bufio.Reader) {
	defer close(d.gone)
	for {
		// No bufio.Scanner: it ends at a line that is longer than its buffer.
		line, err := stdout.ReadBytes('\n')
		if err != nil {
			return // and what a daemon that was killed had not finished is no message
		}
		var told message
		if d.broken = json.Unmarshal(line, &told); d.broken != nil {
			return
		}
		d.mutex.Lock()
		run := d.runs[told.Params.RunID]
		if told.Method == "" && told.ID != nil {
			d.calls[*told.ID] <- told
			delete(d.calls, *told.ID)
		}
		d.mutex.Unlock()
		if told.Method != "" && run != nil {
			// Does not wait: there is room for all events that we gave credit for, and for the completion.
			run <- told.Params
		}
	}
}

func (d *Daemon) send(value object) error {
	value["jsonrpc"] = "2.0"
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	_, err = d.stdin.Write(append(line, '\n'))
	return err
}

// Call sends a request and waits for its answer. The error is a *refusal, or tells that the daemon is gone.
func (d *Daemon) Call(method string, parameters object) error {
	answered := make(chan message, 1)
	d.mutex.Lock()
	d.lastID++
	id := d.lastID
	d.calls[id] = answered
	d.mutex.Unlock()
	if err := d.send(object{"id": id, "method": method, "params": parameters}); err != nil {
		return errGone
	}
	select {
	case told := <-answered:
		if told.Error != nil {
			return told.Error
		}
		return nil
	case <-d.gone:
		return errGone
	}
}

// Run carries out one run and calls `handle` for each of its events, which may take its time: only this run waits.
func (d *Daemon) Run(id, prompt string, handle func(event)) (completion, error) {
	// Known before it is asked for: its first events can come together with the answer.
	told := make(chan params, credit+1)
	d.mutex.Lock()
	d.runs[id] = told
	d.mutex.Unlock()
	defer func() {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		delete(d.runs, id)
	}()
	request := object{"prompt": prompt}
	start := object{"runId": id, "agentKind": "codex", "request": request, "credit": credit}
	if err := d.Call("run/start", start); err != nil {
		return completion{}, err
	}
	for handled := 1; ; handled++ {
		select {
		case what := <-told:
			if what.Completion != nil {
				return *what.Completion, nil
			}
			handle(*what.Event)
			if handled%(credit/2) == 0 {
				// A daemon that is gone is found out by the next wait.
				_ = d.send(object{"method": "run/credit", "params": object{"runId": id, "events": credit / 2}})
			}
		case <-d.gone:
			if len(told) == 0 {
				return completion{}, errGone
			}
		}
	}
}

// End lets the daemon exit and waits for that. It cancels the runs that are left.
func (d *Daemon) End() error {
	defer d.KillLater().Stop()
	_ = d.send(object{"method": "exit"})
	d.writing.Lock()
	d.stdin.Close()
	d.writing.Unlock()
	<-d.gone // what Wait would cut off
	if err := d.command.Wait(); err != nil {
		return fmt.Errorf("the daemon ended with %w", err)
	}
	return d.broken
}

// KillLater kills the daemon should it not stop by itself. What its runs have started goes with it.
func (d *Daemon) KillLater() *time.Timer {
	return time.AfterFunc(patience, func() { _ = d.command.Process.Kill() })
}

func main() {
	prompts, options := os.Args[1:], []string(nil)
	for index, word := range prompts {
		if word == "--" {
			prompts, options = prompts[:index], prompts[index+1:]
			break
		}
	}
	// Before there is anything that a signal could leave behind.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	daemon, err := Start(options...)
	if err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		os.Exit(1)
	}
	done := make(chan bool)
	go func() { done <- supervise(daemon, prompts) }()

	good, status := false, 1
	interrupted := 0
	for waiting := true; waiting; {
		select {
		case good = <-done:
			waiting = false
		case number := <-signals:
			if interrupted > 0 {
				_ = daemon.command.Process.Signal(syscall.SIGTERM) // the second such one ends agents without asking them
				continue
			}
			interrupted = 128 + int(number.(syscall.Signal))
			daemon.KillLater()
			// Not in the way of the next signal. The runs are told that they are cancelled, and so all ends in order.
			go func() { _ = daemon.Call("shutdown", object{"mode": "cancel"}) }()
		}
	}
	if err := daemon.End(); err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
	} else if good {
		status = 0
	}
	if interrupted > 0 {
		status = interrupted
	}
	os.Exit(status)
}

// supervise carries out one run for each prompt, all at once, and tells whether every one completed its turn.
func supervise(daemon *Daemon, prompts []string) bool {
	client := object{"protocolVersion": "1.0", "clientInfo": object{"name": "supervisor.go"}}
	if err := daemon.Call("initialize", client); err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		return false
	}
	batch := make([]byte, 8) // a journal takes the id of a run only once
	if _, err := rand.Read(batch); err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		return false
	}
	good := make(chan bool)
	for index, prompt := range prompts {
		// All at once: those for which there is no place wait in the daemon's queue.
		go func(id, prompt string) { good <- run(daemon, id, prompt) }(fmt.Sprintf("%x-%d", batch, index+1), prompt)
	}
	all := true
	for range prompts {
		all = <-good && all
	}
	if err := daemon.Call("shutdown", object{"mode": "drain"}); err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		return false
	}
	return all
}

// Your work goes in here.
func run(daemon *Daemon, id, prompt string) bool {
	done, err := daemon.Run(id, prompt, func(told event) {
		text := told.Text
		if text == nil {
			text = told.Message
		}
		say(id, text, told.Kind, told.Data.Tool.Kind, told.Data.Tool.Status)
	})
	switch {
	case err != nil:
		say(id, nil, err.Error())
	case done.Outcome == "completed":
		say(id, done.FinalText, done.Outcome, done.Turn)
	default:
		say(id, &done.Error.Message, done.Outcome)
	}
	return err == nil && done.OK
}

// A line about a run. Quoted, a text is one line, and none of its control characters reaches the terminal.
func say(id string, text *string, words ...string) {
	line := id
	for _, word := range words {
		if word != "" {
			line += " " + word
		}
	}
	if text != nil {
		line += fmt.Sprintf(" %q", *text)
	}
	fmt.Println(line)
}
