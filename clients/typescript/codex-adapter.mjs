// Compiled from codex-adapter.mts, SHA-256 42531da2567bd5e338537401f61b8bd4707f2f1841e936b903b75693d6a3134e. Do not edit.
/**
 * Run an agent CLI, such as the Codex CLI, from TypeScript and JavaScript, supervised by `codex-adapter`.
 *
 *     const r = run("Fix the failing test", { working_dir: "/src/app" });
 *     for await (const event of r) console.log(event.kind, event.text);
 *     console.log((await r.completion).final_text);
 *
 * One file, no dependencies, Node 18.18 or later on Linux. README.md has the details.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
const WINDOW = 64; // events of one run that may wait here; after that, the agent waits for the consumer
const PATIENCE = 30_000; // milliseconds for a daemon to end a run or itself; after that, it is killed
const LONGEST_REQUEST = 16 * 1024 * 1024; // bytes that a daemon accepts in one line
const LONGEST_LINE = 64 * 1024 * 1024; // characters; longer than any message of a daemon
/** The base of all errors of this module. No message contains text of the agent or the request. */
export class AdapterError extends Error {
    name = "AdapterError";
    /** The kind of the error in the records. `daemon` and `dropped` are kinds of this module only. */
    kind;
    constructor(kind, message, options) {
        super(message, options);
        this.kind = kind;
    }
}
/** The request is malformed. The message names the field and the allowed values. */
export class InvalidRequestError extends AdapterError {
    name = "InvalidRequestError";
}
/** The request has an extension that the backend does not know. */
export class UnsupportedCapabilityError extends AdapterError {
    name = "UnsupportedCapabilityError";
}
/**
 * The run failed without a completion. `hint` is the cause, if it is known. `advice` is the next step. `runUsage` and
 * `costUsd` are the tokens and the US dollars that the run has used at least, if the agent reported them.
 */
export class BackendError extends AdapterError {
    name = "BackendError";
    failure;
    hint;
    advice;
    runUsage;
    costUsd;
    constructor(message, more = {}) {
        super("backend", message, "cause" in more ? { cause: more.cause } : undefined);
        this.failure = more.failure ?? "other";
        this.hint = more.hint;
        this.advice = more.advice;
        this.runUsage = more.runUsage;
        this.costUsd = more.costUsd;
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
/** The run was cancelled. `cause` is the reason of the AbortSignal, if a signal cancelled the run. */
export class RunCancelled extends BackendError {
    name = "RunCancelled";
}
/** The daemon exited, could not be started or has another protocol. `unfinished` has the ids of its live runs. */
export class DaemonError extends AdapterError {
    name = "DaemonError";
    unfinished;
    constructor(message, unfinished = []) {
        super("daemon", message);
        this.unfinished = unfinished;
    }
}
/** Start one run with its own daemon, which has exited when `completion` settles. */
export function run(prompt, options = {}) {
    const { command, args, cwd, environment, stderr, ...rest } = options;
    const kind = rest.agentKind === undefined ? [] : ["--agent", rest.agentKind];
    const daemon = new Daemon({
        ...(command && { command }), args: [...kind, ...(args ?? [])], ...(cwd && { cwd }),
        ...(environment && { environment }), ...(stderr && { stderr }),
    });
    return daemon[start](prompt, rest, () => daemon.close());
}
/** Start a daemon for many runs. Reject with a DaemonError if the program is not a daemon. */
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
 * One run. Iterate over it once for its events, and await its `completion`.
 *
 * If you leave the loop early, the other events are dropped and the run continues to its completion. `cancel` ends
 * the run. The agent waits for a slow loop. `run` and `Daemon.run` create runs.
 */
export class Run {
    runId;
    #sessionId;
    #call;
    #giveUp;
    #release;
    #signal;
    #events = []; // events that wait for the consumer; at most WINDOW
    #owed = 0; // events that were delivered, but not yet granted again as credit
    #waiting = [];
    #iterated = false;
    #left = false; // no further event is delivered
    #dropped = false; // events were dropped before a loop began
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
        this.#completion.catch(() => { }); // a caller that only reads the events causes no unhandled rejection
        signal?.addEventListener("abort", this.#abort, { once: true });
        if (signal?.aborted)
            this.#abort();
    }
    /** The id with which a run can resume the session; undefined until the agent has reported it. */
    get sessionId() {
        return this.#sessionId;
    }
    /**
    * The completion. It resolves when the agent has exited and you have read or left the events. It rejects with an
     * AdapterError if the run fails. If no loop has begun, an `await` drops the events.
     */
    get completion() {
        if (!this.#iterated && !this.#left)
            setImmediate(() => this.#iterated || this.#leave(true));
        return this.#completion;
    }
    /** End the run. Its events end now, and its completion is RunCancelled. With `kill`, the agent is not asked first. */
    cancel({ kill = false, reason } = {}) {
        if (this.#outcome)
            return;
        this.#cancelled ??= reason === undefined ? {} : { cause: reason };
        this.#clock ??= setTimeout(this.#giveUp, PATIENCE);
        this.#call("run/cancel", { runId: this.runId, kill });
        this.#leave(false);
    }
    [Symbol.asyncIterator]() {
        if (this.#dropped) {
            throw new AdapterError("dropped", "The events were dropped. Start the loop before you await the completion.");
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
    /** Cancel the run if it has not ended, and wait for its end. */
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
    [completed](outcome, record) {
        const cancelled = this.#cancelled && { ...CANCELLED, ...this.#cancelled, ...(record && usedBy(record)) };
        this.#outcome ??= cancelled ? new RunCancelled("cancelled", cancelled) : outcome;
        this.#sessionId = record?.session_id ?? this.#sessionId;
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
        const outcome = this.#outcome;
        // A completion waits for the consumer of the events, an error does not.
        if (!outcome || this.#settled || (!(outcome instanceof Error) && this.#events.length > 0))
            return;
        this.#settled = true;
        clearTimeout(this.#clock);
        this.#signal?.removeEventListener("abort", this.#abort);
        this.#settle(this.#release().then(() => (outcome instanceof Error ? Promise.reject(outcome) : outcome)));
    }
}
/** One `codex-adapter serve` for any number of runs. Runs over its limit wait in its queue. `openDaemon` creates it. */
export class Daemon {
    /** A promise that resolves when the daemon's process has exited for any reason. */
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
        // The daemon has its own process group, so that Ctrl-C reaches only this process. When this process ends in any
        // way, the daemon reads the end of its stdin, cancels its runs and exits.
        this.#child = spawn(program, [...words, "serve", ...args], {
            stdio: ["pipe", "pipe", stderr], detached: true, cwd, env: environment,
        });
        this.#child.stdout.on("error", () => { });
        this.#child.stdin.on("error", () => { }); // the daemon has exited; the reader finds the end of its output
        this.ended = new Promise((resolve) => {
            this.#child.once("error", (error) => {
                if (this.#child.pid !== undefined)
                    return;
                const advice = "Install codex-adapter, or pass its path in `command`.";
                resolve(this.#lose(`codex-adapter cannot be started (${error.code ?? "unknown"}). ${advice}`, null, null));
            });
            this.#child.once("close", (code, signal) => {
                resolve(this.#lose(`The daemon has exited (${signal ?? `status ${code}`}).${signal ? "" : " Read its stderr."}`, code, signal));
            });
        });
        this.#read();
        const params = { protocolVersion: "1.0", clientInfo: { name: "codex-adapter.mts" } };
        this[ready] = this.#request("initialize", params).then((info) => void (this.#info = info));
        this[ready].catch(() => { });
    }
    /** The version, limits and capabilities of the daemon. */
    get info() {
        if (!this.#info)
            throw new DaemonError("The daemon has not answered yet. Await openDaemon first.");
        return this.#info;
    }
    /** Start a run or queue it. If the request is refused, the run's `completion` rejects. */
    run(prompt, options = {}) {
        return this[start](prompt, options, async () => { });
    }
    /** Return the live runs, the oldest first, and what each waits for. */
    async list() {
        return (await this.#request("run/list", {})).runs;
    }
    /**
    * Yield the records of a run in the journal from `fromSeq` on, also of a run of an earlier daemon. The generator
     * returns the completion, or undefined if the journal has none yet. The daemon needs `--journal`.
     */
    async *replay(runId, fromSeq = 0) {
        for (let page, next = fromSeq;; next = page.nextSeq) {
            page = await this.#request("run/events", { runId, fromSeq: next });
            yield* page.events;
            if (page.completion || !page.more)
                return page.completion || undefined;
        }
    }
    /** End the runs: `drain` lets them finish, `cancel` cancels them. Resolve when no run is left. Then call `close`. */
    async shutdown(mode = "drain") {
        await this.#request("shutdown", { mode });
    }
    /** Cancel the live runs and end the daemon. No process of the daemon is left when this resolves. */
    close() {
        this.#closing ??= this.#close();
        return this.#closing;
    }
    [Symbol.asyncDispose]() {
        return this.close();
    }
    /** @internal */
    [start](prompt, { signal, runId = randomUUID(), agentKind = "codex", ...rest }, release) {
        const tell = (method, params) => void this.#request(method, params).catch(() => { });
        const lost = this.#failure ?? (this.#closing && new DaemonError("The daemon is closing. Open another one."));
        const taken = this.#runs.has(runId) && new InvalidRequestError("invalid_request", "A live run has this runId. Pass another one.");
        const idle = signal?.aborted || lost || taken;
        const made = new Run(runId, signal, idle ? () => { } : tell, () => this.#child.kill("SIGKILL"), release);
        if (idle) {
            made[completed](lost || taken || new RunCancelled("cancelled", CANCELLED));
            return made;
        }
        this.#runs.set(runId, made);
        const params = { runId, agentKind, request: { ...rest, prompt }, credit: WINDOW };
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
            return Promise.reject(new InvalidRequestError("invalid_request", "The request has a value that JSON cannot express."));
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
            const lines = piece.split("\n"); // not `readline`, which splits lines at other characters too
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
                // The message does not quote the output.
                this.#child.stdout.removeAllListeners("data").resume();
                this.#lose("The program does not use the protocol of `codex-adapter serve`.", null, null);
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
            const failure = record.outcome === "failed" && errorOf({ ...record.error, ...usedBy(record) });
            ran?.[completed](failure || record, record);
        }
        if (method !== undefined || id === undefined)
            return;
        const call = this.#calls.get(id);
        if (!call)
            throw new RangeError(); // for example null, for a request that the daemon could not read
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
/** Return what a run has used, as far as it is known. */
function usedBy({ run_usage, cost_usd }) {
    return { ...(run_usage && { runUsage: run_usage }), ...(cost_usd !== undefined && { costUsd: cost_usd }) };
}
/** Return the error of a run that failed without a completion, or of a refused request. */
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
/** Return the error of a refused request. */
function refusal({ code, message, data }) {
    if (code === -32602 || code === -32700)
        return new InvalidRequestError("invalid_request", message);
    const { kind, ...more } = (data ?? {});
    if (code !== -32010 || !kind)
        return new DaemonError(message);
    const known = ["invalid_request", "unsupported_capability", "unknown_backend", "invalid_agent_kind"].includes(kind);
    return errorOf({ kind: (known ? kind : "backend"), message, ...more });
}
