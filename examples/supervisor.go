// Supervise many runs of the Codex CLI over one pipe. Needs only Go 1.19 or later.
//
//	go run supervisor.go 'Fix the failing test' 'Write the missing docs' -- --max-runs 8 --idle-timeout 300
//
// It starts one run for each prompt. Arguments after `--` are options of `codex-adapter serve`. Exit status: 0 if every
// run completed its turn, 130 or 143 after SIGINT or SIGTERM, else 1.
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
	credit   = 64               // the limit of waiting events of one run; at the limit, only that run stops
	patience = 30 * time.Second // the time to stop; then the daemon is killed
)

type object = map[string]any

// A message of the daemon: an answer if it has no method, else a notification.
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
	Outcome   string  `json:"outcome"` // "completed", or "failed" with an error instead of other fields
	Turn      string  `json:"turn"`    // "completed", "failed", "cut_off", or "" if no turn began
	FinalText *string `json:"final_text"`
	Error     struct{ Kind, Message string }
}

type refusal struct {
	Code    int
	Message string
	Data    struct{ Kind, Hint, Advice string }
}

func (r *refusal) Error() string { return fmt.Sprintf("refused %s %q", r.Data.Kind, r.Message) }

var errClosed = errors.New("the daemon closed its output")

// Daemon is a running `codex-adapter serve`. Its methods can be called from any goroutine.
type Daemon struct {
	command *exec.Cmd
	ended   chan struct{} // closed when the output of the daemon ended
	broken  error         // the reason, if a line was not a message; read it after `ended`

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
	// A separate process group: Ctrl-C reaches only this process, which then decides. If this process dies, the stdin
	// of the daemon ends, and the daemon cancels its runs and exits.
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
		command: command, stdin: stdin, ended: make(chan struct{}),
		calls: map[int64]chan message{}, runs: map[string]chan params{},
	}
	go daemon.read(bufio.NewReader(stdout))
	return daemon, nil
}

func (d *Daemon) read(stdout *bufio.Reader) {
	defer close(d.ended)
	for {
		// Not bufio.Scanner: it stops at a line that is longer than its buffer.
		line, err := stdout.ReadBytes('\n')
		if err != nil {
			return // a killed daemon can leave a partial line
		}
		var received message
		if d.broken = json.Unmarshal(line, &received); d.broken != nil {
			return
		}
		d.mutex.Lock()
		run := d.runs[received.Params.RunID]
		if received.Method == "" && received.ID != nil {
			d.calls[*received.ID] <- received
			delete(d.calls, *received.ID)
		}
		d.mutex.Unlock()
		if received.Method != "" && run != nil {
			// This does not wait: the channel has room for the credit and the completion.
			run <- received.Params
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

// Call sends a request and waits for its answer. The error is a *refusal, or errClosed.
func (d *Daemon) Call(method string, parameters object) error {
	answered := make(chan message, 1)
	d.mutex.Lock()
	d.lastID++
	id := d.lastID
	d.calls[id] = answered
	d.mutex.Unlock()
	if err := d.send(object{"id": id, "method": method, "params": parameters}); err != nil {
		return errClosed
	}
	select {
	case answer := <-answered:
		if answer.Error != nil {
			return answer.Error
		}
		return nil
	case <-d.ended:
		return errClosed
	}
}

// Run executes one run and calls `handle` for each of its events. A slow `handle` stops only this run.
func (d *Daemon) Run(id, prompt string, handle func(event)) (completion, error) {
	// Register the run before the request: its first events can arrive together with the answer.
	messages := make(chan params, credit+1)
	d.mutex.Lock()
	d.runs[id] = messages
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
		case received := <-messages:
			if received.Completion != nil {
				return *received.Completion, nil
			}
			handle(*received.Event)
			if handled%(credit/2) == 0 {
				// The next wait detects a daemon that ended.
				_ = d.send(object{"method": "run/credit", "params": object{"runId": id, "events": credit / 2}})
			}
		case <-d.ended:
			if len(messages) == 0 {
				return completion{}, errClosed
			}
		}
	}
}

// End asks the daemon to exit and waits until it does. The daemon cancels the remaining runs.
func (d *Daemon) End() error {
	defer d.KillLater().Stop()
	_ = d.send(object{"method": "exit"})
	d.writing.Lock()
	d.stdin.Close()
	d.writing.Unlock()
	<-d.ended // Wait would close the pipe before all is read
	if err := d.command.Wait(); err != nil {
		return fmt.Errorf("the daemon ended with %w", err)
	}
	return d.broken
}

// KillLater kills the daemon if it does not stop by itself. The processes of its runs end with it.
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
	// Handle signals before the daemon exists.
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
				_ = daemon.command.Process.Signal(syscall.SIGTERM) // the second signal ends agents without asking them
				continue
			}
			interrupted = 128 + int(number.(syscall.Signal))
			daemon.KillLater()
			// In a goroutine, so that the next signal can be handled. The runs are cancelled, and everything ends in order.
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

// supervise executes one run for each prompt, all at once, and returns whether each of them completed its turn.
func supervise(daemon *Daemon, prompts []string) bool {
	client := object{"protocolVersion": "1.0", "clientInfo": object{"name": "supervisor.go"}}
	if err := daemon.Call("initialize", client); err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		return false
	}
	batch := make([]byte, 8) // a journal accepts each id only once
	if _, err := rand.Read(batch); err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		return false
	}
	good := make(chan bool)
	for index, prompt := range prompts {
		// All at once: runs above the limit wait in the daemon's queue.
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

// run executes one run. Put your own work here.
func run(daemon *Daemon, id, prompt string) bool {
	done, err := daemon.Run(id, prompt, func(e event) {
		text := e.Text
		if text == nil {
			text = e.Message
		}
		report(id, text, e.Kind, e.Data.Tool.Kind, e.Data.Tool.Status)
	})
	switch {
	case err != nil:
		report(id, nil, err.Error())
	case done.Outcome == "completed":
		report(id, done.FinalText, done.Outcome, done.Turn)
	default:
		report(id, &done.Error.Message, done.Outcome)
	}
	return err == nil && done.OK
}

// report prints a line about a run. A quoted text is one line without control characters.
func report(id string, text *string, words ...string) {
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
