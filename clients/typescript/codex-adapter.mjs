// Compiled from codex-adapter.mts, SHA-256 91322280b02cbb6a5f69d20e0ad3ef569fcaf8ecd1d826d30452ca88cf8a0f9c. Do not edit.
/**
 * Run the Codex CLI from TypeScript and JavaScript, supervised by `codex-adapter`.
 *
 *     const r = run("Fix the failing test", { working_dir: "/src/app" });
 *     for await (const event of r) console.log(event.kind, event.text);
 *     console.log((await r.completion).final_text);
 *
 * One file, no dependencies, Node 18.18 or later on Linux. README.md has more.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
const WINDOW = 64; // events of one run that may wait here; the agent of a slower consumer waits
const PATIENCE = 30_000; // milliseconds for a daemon to end what it was asked to end; then it is killed
const LONGEST_REQUEST = 16 * 1024 * 1024; // bytes that a daemon takes in one line
const LONGEST_LINE = 64 * 1024 * 1024; // characters; more than any message of a daemon has
/** Base of all errors of this module. No message holds anything that the agent or the request said. */
export class AdapterError extends Error {
    name = "AdapterError";
    /** The kind of the error as the records name it; `daemon` and `dropped` are of this module. */
    kind;
    constructor(kind, message, options) {
        super(message, options);
        this.kind = kind;
    }
}
/** The request is malformed; the message names the field and what is allowed. */
export class InvalidRequestError extends AdapterError {
    name = "InvalidRequestError";
}
/** The request has an extension that the backend does not know. */
export class UnsupportedCapabilityError extends AdapterError {
    name = "UnsupportedCapabilityError";
}
/** The run came to no completion. `hint` is the cause, where it is known; `advice` is the next step. */
export class BackendError extends AdapterError {
    name = "BackendError";
    failure;
    hint;
    advice;
    constructor(message, more = {}) {
        super("backend", message, "cause" in more ? { cause: more.cause } : undefined);
        this.failure = more.failure ?? "other";
        this.hint = more.hint;
        this.advice = more.advice;
    }
}
/** The agent could not be started. */
export class SpawnError extends BackendError {
    name = "SpawnError";
}
/** A time limit of the run passed. */
export class RunTimedOut extends BackendError {
    name = "RunTimedOut";
}
/** The run was cancelled; `cause` is the reason of the AbortSignal, if that did it. */
export class RunCancelled extends BackendError {
    name = "RunCancelled";
}
/** The daemon ended, could not be started or did not speak the protocol; `unfinished` are the ids of its live runs. */
export class DaemonError extends AdapterError {
    name = "DaemonError";
    unfinished;
    constructor(message, unfinished = []) {
        super("daemon", message);
        this.unfinished = unfinished;
    }
}
/** Start one run with a daemon of its own, which has ended when the completion is there. */
export function run(prompt, options = {}) {
    const { command, args, cwd, environment, stderr, ...rest } = options;
    const daemon = new Daemon({
        ...(command && { command }), ...(args && { args }), ...(cwd && { cwd }),
        ...(environment && { environment }), ...(stderr && { stderr }),
    });
    return daemon[start](prompt, rest, () => daemon.close());
}
/** Start a daemon for many runs. Rejects with a DaemonError when there is none at the other end. */
export async function openDaemon(options = {}) {
    const daemon = new Daemon(options);
    try {
        await daemon[ready];
    }
    catch (error) {
        await daemon.close();
        throw error;
    }
    return daemon;
}
const CANCELLED = { failure: "cancelled" };
const start = Symbol("start");
const ready = Symbol("ready");
const happened = Symbol("happened");
const completed = Symbol("completed");
/**
 * One run: iterate over it for its events, once, and await its `completion`.
 *
 * Leaving the loop early drops the other events, and the run continues to its completion; `cancel` ends it. While
 * the loop is slow, the agent waits. Made by `run` and `Daemon.run`.
 */
export class Run {
    runId;
    #sessionId;
    #call;
    #giveUp;
    #release;
    #signal;
    #events = []; // that arrived and were not taken; at most WINDOW
    #owed = 0; // events taken, for which no credit was given yet
    #waiting = [];
    #iterated = false;
    #left = false; // no event is delivered any more
    #dropped = false; // without the consumer's doing
    #outcome;
    #cancelled;
    #clock;
    #settled = false;
    #settle;
    #completion;
    /** @internal */
    constructor(runId, signal, call, giveUp, release) {
        this.runId = runId;
        this.#call = call;
        this.#giveUp = giveUp;
        this.#release = release;
        this.#signal = signal;
        this.#completion = new Promise((resolve) => (this.#settle = resolve));
        this.#completion.catch(() => { }); // a caller that only wants the events is no unhandled rejection
        signal?.addEventListener("abort", this.#abort, { once: true });
        if (signal?.aborted)
            this.#abort();
    }
    /** The id by which the session can be resumed; undefined until the agent has reported it. */
    get sessionId() {
        return this.#sessionId;
    }
    /**
     * The completion, once the agent has exited and the events were read to their end or left. Rejects with the
     * AdapterError of a run that comes to none. Where no loop has begun, awaiting it drops the events.
     */
    get completion() {
        if (!this.#iterated && !this.#left)
            setImmediate(() => this.#iterated || this.#leave(true));
        return this.#completion;
    }
    /** End the run: its events end now, and its completion is RunCancelled. With `kill`, the agent is not asked first. */
    cancel({ kill = false, reason } = {}) {
        if (this.#outcome)
            return;
        this.#cancelled ??= new RunCancelled("cancelled", { ...CANCELLED, ...(reason !== undefined && { cause: reason }) });
        this.#clock ??= setTimeout(this.#giveUp, PATIENCE);
        this.#call("run/cancel", { runId: this.runId, kill });
        this.#leave(false);
    }
    [Symbol.asyncIterator]() {
        if (this.#dropped) {
            throw new AdapterError("dropped", "The events were dropped. Begin the loop before you await the completion.");
        }
        this.#iterated = true;
        return this;
    }
    next() {
        this.#iterated = true;
        const event = this.#events.shift();
        if (event)
            this.#taken();
        if (event)
            return Promise.resolve({ value: event, done: false });
        if (this.#left || this.#outcome)
            return Promise.resolve({ value: undefined, done: true });
        return new Promise((resolve) => this.#waiting.push(resolve));
    }
    return() {
        if (!this.#left && !this.#outcome)
            this.#call("run/detach", { runId: this.runId });
        this.#leave(false);
        return Promise.resolve({ value: undefined, done: true });
    }
    /** Cancel the run where it has not ended, and wait for its end. */
    async [Symbol.asyncDispose]() {
        this.cancel();
        this.#leave(false);
        await this.#completion.catch(() => { });
    }
    /** @internal */
    [happened](event) {
        if (event.data && "schema" in event.data && event.data.schema === "agent_api.session.handle.v1") {
            this.#sessionId = event.data.session.id;
        }
        const waiting = this.#left ? undefined : this.#waiting.shift();
        if (waiting || this.#left)
            this.#taken();
        waiting ? waiting({ value: event, done: false }) : this.#left || this.#events.push(event);
    }
    /** @internal */
    [completed](outcome) {
        this.#outcome ??= outcome;
        if (!(outcome instanceof Error))
            this.#sessionId = outcome.session_id ?? this.#sessionId;
        for (const waiting of this.#waiting.splice(0))
            waiting({ value: undefined, done: true });
        this.#finish();
    }
    #abort = () => this.cancel({ reason: this.#signal?.reason });
    #taken() {
        if (++this.#owed >= WINDOW / 2 && !this.#outcome) {
            this.#call("run/credit", { runId: this.runId, events: this.#owed });
            this.#owed = 0;
        }
        this.#finish();
    }
    #leave(dropped) {
        if (this.#left)
            return;
        this.#left = true;
        this.#dropped = dropped;
        if (dropped && !this.#outcome)
            this.#call("run/detach", { runId: this.runId });
        this.#events = [];
        for (const waiting of this.#waiting.splice(0))
            waiting({ value: undefined, done: true });
        this.#finish();
    }
    #finish() {
        const outcome = this.#outcome && (this.#cancelled ?? this.#outcome);
        // A completion waits for the consumer of the events, an error does not.
        if (!outcome || this.#settled || (!(outcome instanceof Error) && this.#events.length > 0))
            return;
        this.#settled = true;
        clearTimeout(this.#clock);
        this.#signal?.removeEventListener("abort", this.#abort);
        this.#settle(this.#release().then(() => (outcome instanceof Error ? Promise.reject(outcome) : outcome)));
    }
}
/** One `codex-adapter serve`: any number of runs at once, those over its limit in its queue. Made by `openDaemon`. */
export class Daemon {
    /** Resolves when the daemon's process has ended, however it ended. */
    ended;
    #child;
    #calls = new Map();
    #runs = new Map();
    #lastId = 0;
    #info;
    #closing;
    #failure;
    [ready];
    /** @internal */
    constructor({ command = ["codex-adapter"], args = [], cwd, environment, stderr = "inherit" }) {
        const [program = "codex-adapter", ...words] = command;
        // In a process group of its own, so that Ctrl-C reaches this process alone. When this process ends, in whatever
        // way, the daemon reads the end of its stdin, cancels its runs and exits.
        this.#child = spawn(program, [...words, "serve", ...args], {
            stdio: ["pipe", "pipe", stderr], detached: true, cwd, env: environment,
        });
        this.#child.stdout.on("error", () => { });
        this.#child.stdin.on("error", () => { }); // the daemon has ended; the end of its output reports that
        this.ended = new Promise((resolve) => {
            this.#child.once("error", (error) => {
                if (this.#child.pid !== undefined)
                    return;
                const advice = "Install codex-adapter, or pass its path in `command`.";
                resolve(this.#lose(`codex-adapter cannot be started (${error.code ?? "unknown"}). ${advice}`, null, null));
            });
            this.#child.once("close", (code, signal) => {
                resolve(this.#lose(`The daemon has ended (${signal ?? `status ${code}`}); its stderr says more.`, code, signal));
            });
        });
        this.#read();
        const params = { protocolVersion: "1.0", clientInfo: { name: "codex-adapter.mts" } };
        this[ready] = this.#request("initialize", params).then((info) => void (this.#info = info));
        this[ready].catch(() => { });
    }
    /** What the daemon is and can do. */
    get info() {
        if (!this.#info)
            throw new DaemonError("The daemon has not answered yet. Await openDaemon first.");
        return this.#info;
    }
    /** Start a run, or queue it. A request that is refused rejects the run's `completion`. */
    run(prompt, options = {}) {
        return this[start](prompt, options, async () => { });
    }
    /** The live runs, the oldest first, and what each waits for. */
    async list() {
        return (await this.#request("run/list", {})).runs;
    }
    /**
     * What the journal has of a run, of this daemon or an earlier one, from `fromSeq` on. The generator returns the
     * completion, or undefined where the journal has none yet. Needs `--journal`.
     */
    async *replay(runId, fromSeq = 0) {
        for (let page, next = fromSeq;; next = page.nextSeq) {
            page = await this.#request("run/events", { runId, fromSeq: next });
            yield* page.events;
            if (page.completion || !page.more)
                return page.completion || undefined;
        }
    }
    /** End the runs: `drain` lets them finish, `cancel` cancels them. Resolves when no run is left; `close` is next. */
    async shutdown(mode = "drain") {
        await this.#request("shutdown", { mode });
    }
    /** Cancel what is still running and end the daemon. No process of it is left when this resolves. */
    close() {
        this.#closing ??= this.#close();
        return this.#closing;
    }
    [Symbol.asyncDispose]() {
        return this.close();
    }
    /** @internal */
    [start](prompt, { signal, runId = randomUUID(), ...rest }, release) {
        const tell = (method, params) => void this.#request(method, params).catch(() => { });
        const lost = this.#failure ?? (this.#closing && new DaemonError("The daemon is being closed; open another one."));
        const taken = this.#runs.has(runId) && new InvalidRequestError("invalid_request", "A live run has this runId.");
        const idle = signal?.aborted || lost || taken;
        const made = new Run(runId, signal, idle ? () => { } : tell, () => this.#child.kill("SIGKILL"), release);
        if (idle) {
            made[completed](lost || taken || new RunCancelled("cancelled", CANCELLED));
            return made;
        }
        this.#runs.set(runId, made);
        const params = { runId, agentKind: "codex", request: { ...rest, prompt }, credit: WINDOW };
        this.#request("run/start", params).catch((error) => {
            if (this.#runs.delete(runId))
                made[completed](error);
        });
        return made;
    }
    #request(method, params) {
        if (this.#failure)
            return Promise.reject(this.#failure);
        const id = ++this.#lastId;
        let line;
        try {
            line = `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
        }
        catch {
            return Promise.reject(new InvalidRequestError("invalid_request", "The request holds what JSON cannot say."));
        }
        if (Buffer.byteLength(line) > LONGEST_REQUEST) {
            const message = "The request is larger than 16 MiB as JSON. Put large texts into files of the working directory.";
            return Promise.reject(new InvalidRequestError("invalid_request", message));
        }
        this.#child.stdin.write(line);
        return new Promise((resolve, reject) => this.#calls.set(id, { resolve: resolve, reject }));
    }
    async #close() {
        const clock = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE);
        this.#request("shutdown", { mode: "cancel" }).catch(() => { });
        if (!this.#failure)
            this.#child.stdin.end('{"jsonrpc":"2.0","method":"exit"}\n');
        await this.ended;
        clearTimeout(clock);
    }
    #read() {
        let parts = [];
        let size = 0;
        this.#child.stdout.setEncoding("utf8").on("data", (piece) => {
            const lines = piece.split("\n"); // not `readline`, for which other characters end a line, too
            const rest = lines.pop() ?? "";
            try {
                for (const line of lines) {
                    this.#take(JSON.parse(parts.join("") + line));
                    parts = [];
                    size = 0;
                }
                parts.push(rest);
                if ((size += rest.length) > LONGEST_LINE)
                    throw new RangeError();
            }
            catch {
                // What it said stays out of the message.
                this.#child.stdout.removeAllListeners("data").resume();
                this.#lose("The program does not speak the protocol of `codex-adapter serve`.", null, null);
                this.#child.kill("SIGKILL");
            }
        });
    }
    #take({ id, method, params, result, error }) {
        if (method === "run/event")
            this.#runs.get(params.runId)?.[happened](params.event);
        if (method === "run/completed") {
            const record = params.completion;
            const ran = this.#runs.get(params.runId);
            this.#runs.delete(params.runId);
            ran?.[completed](record.outcome === "completed" ? record : errorOf(record.error));
        }
        if (method !== undefined || id === undefined)
            return;
        const call = this.#calls.get(id);
        if (!call)
            throw new RangeError(); // such as null: of a request that it could not read
        this.#calls.delete(id);
        error ? call.reject(refusal(error)) : call.resolve(result);
    }
    #lose(message, code, signal) {
        const unfinished = this.#failure?.unfinished ?? [...this.#runs.keys()];
        const ids = unfinished.length ? ` Unfinished runs: ${unfinished.join(", ")}.` : "";
        this.#failure ??= new DaemonError(message + ids, unfinished);
        for (const call of this.#calls.values())
            call.reject(this.#failure);
        for (const ran of this.#runs.values())
            ran[completed](this.#failure);
        this.#calls.clear();
        this.#runs.clear();
        return { code, signal, unfinished };
    }
}
/** The error of a run that came to no completion. */
function errorOf({ kind, message, ...more }) {
    if (kind === "unsupported_capability")
        return new UnsupportedCapabilityError(kind, message);
    if (kind !== "backend")
        return new InvalidRequestError(kind, message);
    if (more.failure === "cancelled")
        return new RunCancelled(message, more);
    if (more.failure === "spawn")
        return new SpawnError(message, more);
    if (more.failure === "timeout")
        return new RunTimedOut(message, more);
    return new BackendError(message, more);
}
/** The error of a request that was refused. */
function refusal({ code, message, data }) {
    if (code === -32602 || code === -32700)
        return new InvalidRequestError("invalid_request", message);
    const { kind, ...more } = (data ?? {});
    if (code !== -32010 || !kind)
        return new DaemonError(message);
    const known = ["invalid_request", "unsupported_capability", "unknown_backend", "invalid_agent_kind"].includes(kind);
    return errorOf({ kind: (known ? kind : "backend"), message, ...more });
}
