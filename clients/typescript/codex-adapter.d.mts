// Compiled from codex-adapter.mts, SHA-256 137ccadde7d7432546192dbb35e874328ee4be4bd7b82f414fe48f25902359f8. Do not edit.
/** The run to cancel. With `kill`, its agent is not asked first. */
export type CancelParams = {
    runId: string;
    kill?: boolean;
};
/** The last record of a run that ended with a completion. */
export type CompletedRecord = {
    type: "completion";
    status: ExitStatus;
    final_text?: string;
    data?: unknown;
    session_id?: string;
    turn?: "completed" | "cut_off" | "failed";
    usage?: Record<string, number>;
    run_usage?: Record<string, number>;
    hint?: "answer_incomplete" | "cli_not_executable" | "cli_not_found" | "configuration_broken" | "context_too_long" | "endpoint_unknown" | "flag_unknown" | "forbidden" | "home_missing" | "idle_limit" | "input_too_long" | "mcp_server_failed" | "model_unknown" | "no_network" | "not_a_git_repository" | "not_logged_in" | "overloaded" | "policy_refused" | "quota_exceeded" | "rate_limited" | "request_rejected" | "sandbox_unavailable" | "server_error" | "session_unknown" | "stream_cut" | "time_limit" | "tool_limit";
    advice?: string;
    seq: number;
    outcome: "completed";
    ok: boolean;
};
/** A replacement for a facet over its limit. */
export type Dropped = {
    dropped: DroppedReason;
};
/** The reason why a facet is missing. */
export type DroppedReason = {
    reason: "oversize";
};
/** The reason why a run failed without a completion. `kind` is the error's name on the wire and `message` its canonical message. `failure` is set for the kind `backend`. `hint` is a known cause, `advice` the next step. */
export type ErrorBody = {
    kind: "invalid_request" | "unsupported_capability" | "unknown_backend" | "invalid_agent_kind" | "backend";
    message: string;
    failure?: "cancelled" | "closed" | "invalid_request" | "io" | "other" | "session" | "spawn" | "timeout" | "wait";
    hint?: "answer_incomplete" | "cli_not_executable" | "cli_not_found" | "configuration_broken" | "context_too_long" | "endpoint_unknown" | "flag_unknown" | "forbidden" | "home_missing" | "idle_limit" | "input_too_long" | "mcp_server_failed" | "model_unknown" | "no_network" | "not_a_git_repository" | "not_logged_in" | "overloaded" | "policy_refused" | "quota_exceeded" | "rate_limited" | "request_rejected" | "sandbox_unavailable" | "server_error" | "session_unknown" | "stream_cut" | "time_limit" | "tool_limit";
    advice?: string;
};
/** The origin of an error that the CLI reported: a warning item or an `error` line. Neither is terminal. */
export type ErrorSource = {
    schema: "codex_adapter.error.v1";
    source: "event" | "item";
};
/** One event of a run. */
export type EventRecord = {
    type: "event";
    seq: number;
    agent_kind: string;
    kind: "error" | "status" | "text_output" | "tool_call" | "tool_result" | "unknown";
    channel?: string;
    text?: string;
    message?: string;
    data?: TextPart | ToolCall | SessionHandle | TokenUsage | Plan | ErrorSource | HintNotice | UnknownLine | Dropped;
};
/** The run whose events are read, and the number of the first event. */
export type EventsParams = {
    runId: string;
    fromSeq?: number;
};
/** Records of a run from its journal, and its completion if the records reach it. */
export type EventsResult = {
    runId: string;
    events: Array<EventRecord>;
    nextSeq: number;
    more: boolean;
    live: boolean;
    completion?: CompletedRecord | FailedRecord;
};
/** The end of the agent's process: an exit `code`, or the name of the `signal` that killed it. */
export type ExitStatus = {
    code: number | null;
    signal: string | null;
};
/** The last record of a run without a completion. `hint` and `advice` are those of `error`. */
export type FailedRecord = {
    type: "completion";
    seq: number;
    outcome: "failed";
    ok: boolean;
    error: ErrorBody;
    session_id?: string;
    hint?: "answer_incomplete" | "cli_not_executable" | "cli_not_found" | "configuration_broken" | "context_too_long" | "endpoint_unknown" | "flag_unknown" | "forbidden" | "home_missing" | "idle_limit" | "input_too_long" | "mcp_server_failed" | "model_unknown" | "no_network" | "not_a_git_repository" | "not_logged_in" | "overloaded" | "policy_refused" | "quota_exceeded" | "rate_limited" | "request_rejected" | "sandbox_unavailable" | "server_error" | "session_unknown" | "stream_cut" | "time_limit" | "tool_limit";
    advice?: string;
};
/** A cause that is found while the run continues: a hint word and its advice. */
export type HintNotice = {
    schema: "codex_adapter.hint.v1";
    hint: string;
    advice: string;
};
/** The capabilities of the daemon. */
export type InitializeResult = {
    protocolVersion: string;
    serverInfo: ServerInfo;
    capabilities: Record<string, Array<string>>;
    limits: Limits;
    containment: string | null;
    journal: boolean;
};
/** The limits of live agents, bytes of an incoming line, requests of a batch, and bytes of an event's text. `queue` is whether further runs wait. */
export type Limits = {
    maxRuns: number;
    queue: boolean;
    maxMessageBytes: number;
    maxBatch: number;
    maxTextBytes: number;
};
/** The live runs, the oldest first. */
export type ListResult = {
    runs: Array<LiveRun>;
};
/** A live run, and what it waits for. */
export type LiveRun = {
    runId: string;
    agentKind: string;
    ageSeconds: number;
    events: number;
    waitsFor: "agent" | "credit" | "end" | "slot" | "start" | "supervisor";
    detached: boolean;
};
/** A masked text of at most 16 KiB. `truncated` is True if the original was longer. */
export type PayloadText = {
    text: string;
    truncated: boolean;
};
/** The agent's whole plan as of this event. */
export type Plan = {
    schema: "codex_adapter.plan.v1";
    items: Array<PlanItem>;
};
/** One step of the agent's plan. */
export type PlanItem = {
    text: string;
    completed: boolean;
};
/** Why a request was not executed. */
export type RpcError = {
    code: number;
    message: string;
    data?: Record<string, string | boolean> | null;
};
/** A request for a run. */
export type RunRequest = {
    prompt: string;
    working_dir?: string | null;
    timeout?: number | null;
    env?: Record<string, string>;
    extensions?: {
        "agent_api.config.model.v1"?: string;
        "backend.claude_code.exec.sandbox_mode"?: "read-only" | "workspace-write" | "danger-full-access";
        "backend.claude_code.exec.trust_project"?: boolean;
        "agent_api.exec.non_interactive"?: boolean;
        "agent_api.exec.add_dirs.v1"?: {
            dirs: Array<string>;
        };
        "backend.claude_code.output_schema"?: Record<string, unknown>;
        "agent_api.session.resume.v1"?: {
            selector: "last";
        } | {
            selector: "id";
            id: string;
        };
        "agent_api.session.fork.v1"?: {
            selector: "last";
        } | {
            selector: "id";
            id: string;
        };
        "backend.claude_code.max_turns"?: number;
        "backend.claude_code.max_budget_usd"?: number;
        "backend.claude_code.partial_messages"?: boolean;
        "backend.claude_code.tools"?: "all" | "none";
        "backend.claude_code.tool_payloads"?: "metadata" | "full";
        "backend.codex.settings"?: Record<string, unknown>;
        "backend.codex.exec.sandbox_mode"?: "read-only" | "workspace-write" | "danger-full-access";
        "backend.codex.exec.trust_project"?: boolean;
        "backend.codex.exec.approval_policy"?: "untrusted" | "on-failure" | "on-request" | "never";
        "backend.codex.images"?: Array<string>;
        "backend.codex.output_schema"?: Record<string, unknown>;
        "backend.codex.tools"?: "all" | "none";
        "backend.codex.tool_payloads"?: "metadata" | "full";
    };
    labels?: Record<string, string>;
};
/** The name and the version of the daemon. */
export type ServerInfo = {
    name: string;
    version: string;
};
/** The id with which a later run can resume or fork this session. */
export type Session = {
    id: string;
};
/** The session's id, reported once per run on a status event. */
export type SessionHandle = {
    schema: "agent_api.session.handle.v1";
    session: Session;
};
/** Whether the live runs are finished or cancelled. */
export type ShutdownParams = {
    mode?: "cancel" | "drain";
};
/** The run to start. */
export type StartParams = {
    runId?: string | null;
    agentKind: string;
    request: RunRequest;
    credit?: number | null;
};
/** The place of a text_output: its item, the phase of the text, and the number of the piece. With the `phase` `delta` the text is appended; with any other phase it is a snapshot of the whole text. A text over the limit is split over `parts` events; `part` counts from 1. */
export type TextPart = {
    schema: "codex_adapter.text.v1";
    item_id: string | null;
    item_type: string;
    phase: "complete" | "delta" | "snapshot" | "start";
    part: number;
    parts: number;
};
/** The token counts of a turn's end, with the names that the CLI uses. */
export type TokenUsage = {
    schema: "codex_adapter.usage.v1";
    usage: Record<string, number>;
};
/** The current state of one tool call. `kind` is one of `TOOL_KINDS`, `status` the item's own. */
export type Tool = {
    backend_item_id: string | null;
    thread_id: string | null;
    turn_id: string | null;
    kind: string;
    phase: "complete" | "delta" | "fail" | "start";
    status: "completed" | "failed" | "pending" | "running" | "unknown";
    exit_code: number | null;
    bytes: ToolBytes;
    tool_name: string | null;
    tool_use_id: string | null;
};
/** Sizes of a tool's output, in bytes of UTF-8. */
export type ToolBytes = {
    stdout: number;
    stderr: number;
    diff: number;
    result: number;
};
/** The facet of every tool_call and tool_result. `input` and `output` are optional payloads. */
export type ToolCall = {
    schema: "agent_api.tools.structured.v1";
    tool: Tool;
    input?: ToolInput;
    output?: ToolOutput;
};
/** The input of a tool call, in the field that fits its kind. */
export type ToolInput = {
    command?: PayloadText;
    changes?: PayloadText;
    server?: PayloadText;
    tool?: PayloadText;
    arguments?: PayloadText;
    query?: PayloadText;
};
/** The output of a tool call. */
export type ToolOutput = {
    aggregated_output?: PayloadText;
    result?: PayloadText;
    error?: PayloadText;
};
/** A well-formed line of an unknown type: only its two type names, masked and cut. */
export type UnknownLine = {
    schema: "codex_adapter.unknown.v1";
    type: string | null;
    item_type: string | null;
};
/** Why the agent failed, if its own messages show the cause. */
export type Hint = NonNullable<ErrorBody["hint"]>;
/** Why a run failed without a completion, in one word. */
export type Failure = NonNullable<ErrorBody["failure"]>;
/** A record of a journal. `time` is the time of the write, in UTC. */
export type JournalRecord = EventRecord & {
    time?: string;
};
/** The exit of the daemon's process, and the ids of its unfinished runs. */
export type DaemonEnd = {
    code: number | null;
    signal: string | null;
    unfinished: readonly string[];
};
export interface DaemonOptions {
    /** The program and its first arguments, by default `codex-adapter` on the PATH. */
    command?: readonly string[];
    /** Options of `codex-adapter serve`, such as `["--idle-timeout", "300", "--journal", "runs"]`. */
    args?: readonly string[];
    /** The directory and the environment of the daemon, by default those of this process. */
    cwd?: string;
    environment?: Readonly<Record<string, string | undefined>>;
    /** The destination of the daemon's diagnostics, by default the stderr of this process. */
    stderr?: "inherit" | "ignore";
}
/** The fields of the request besides its prompt, and options of this client. */
export interface RunOptions extends Omit<RunRequest, "prompt"> {
    /** A signal that cancels the run when it is aborted. */
    signal?: AbortSignal | undefined;
    /** The id of the run in the daemon and its journal, by default a new one. */
    runId?: string;
}
/** The base of all errors of this module. No message contains text of the agent or the request. */
export declare class AdapterError extends Error {
    name: string;
    /** The kind of the error in the records. `daemon` and `dropped` are kinds of this module only. */
    readonly kind: string;
    constructor(kind: string, message: string, options?: {
        cause?: unknown;
    });
}
/** The request is malformed. The message names the field and the allowed values. */
export declare class InvalidRequestError extends AdapterError {
    name: string;
}
/** The request has an extension that the backend does not know. */
export declare class UnsupportedCapabilityError extends AdapterError {
    name: string;
}
/** The run failed without a completion. `hint` is the cause, if it is known. `advice` is the next step. */
export declare class BackendError extends AdapterError {
    name: string;
    readonly failure: Failure;
    readonly hint: Hint | undefined;
    readonly advice: string | undefined;
    constructor(message: string, more?: {
        failure?: Failure;
        hint?: Hint;
        advice?: string;
        cause?: unknown;
    });
}
/** The agent could not be started. */
export declare class SpawnError extends BackendError {
    name: string;
}
/** A time limit of the run passed. */
export declare class RunTimedOut extends BackendError {
    name: string;
}
/** The run was cancelled. `cause` is the reason of the AbortSignal, if a signal cancelled the run. */
export declare class RunCancelled extends BackendError {
    name: string;
}
/** The daemon exited, could not be started or has another protocol. `unfinished` has the ids of its live runs. */
export declare class DaemonError extends AdapterError {
    name: string;
    readonly unfinished: readonly string[];
    constructor(message: string, unfinished?: readonly string[]);
}
/** Start one run with its own daemon, which has exited when `completion` settles. */
export declare function run(prompt: string, options?: RunOptions & DaemonOptions): Run;
/** Start a daemon for many runs. Reject with a DaemonError if the program is not a daemon. */
export declare function openDaemon(options?: DaemonOptions): Promise<Daemon>;
declare const start: unique symbol;
declare const ready: unique symbol;
declare const happened: unique symbol;
declare const completed: unique symbol;
/**
 * One run. Iterate over it once for its events, and await its `completion`.
 *
 * If you leave the loop early, the other events are dropped and the run continues to its completion. `cancel` ends
 * the run. The agent waits for a slow loop. `run` and `Daemon.run` create runs.
 */
export declare class Run implements AsyncIterableIterator<EventRecord>, AsyncDisposable {
    #private;
    readonly runId: string;
    /** @internal */
    constructor(runId: string, signal: AbortSignal | undefined, call: (method: string, params: object) => void, giveUp: () => void, release: () => Promise<void>);
    /** The id with which a run can resume the session; undefined until the agent has reported it. */
    get sessionId(): string | undefined;
    /**
    * The completion. It resolves when the agent has exited and you have read or left the events. It rejects with an
     * AdapterError if the run fails. If no loop has begun, an `await` drops the events.
     */
    get completion(): Promise<CompletedRecord>;
    /** End the run. Its events end now, and its completion is RunCancelled. With `kill`, the agent is not asked first. */
    cancel({ kill, reason }?: {
        kill?: boolean;
        reason?: unknown;
    }): void;
    [Symbol.asyncIterator](): this;
    next(): Promise<IteratorResult<EventRecord, undefined>>;
    return(): Promise<IteratorResult<EventRecord, undefined>>;
    /** Cancel the run if it has not ended, and wait for its end. */
    [Symbol.asyncDispose](): Promise<void>;
    /** @internal */
    [happened](event: EventRecord): void;
    /** @internal */
    [completed](outcome: CompletedRecord | AdapterError, sessionId?: string): void;
}
/** One `codex-adapter serve` for any number of runs. Runs over its limit wait in its queue. `openDaemon` creates it. */
export declare class Daemon implements AsyncDisposable {
    #private;
    /** A promise that resolves when the daemon's process has exited for any reason. */
    readonly ended: Promise<DaemonEnd>;
    [ready]: Promise<void>;
    /** @internal */
    constructor({ command, args, cwd, environment, stderr }: DaemonOptions);
    /** The version, limits and capabilities of the daemon. */
    get info(): InitializeResult;
    /** Start a run or queue it. If the request is refused, the run's `completion` rejects. */
    run(prompt: string, options?: RunOptions): Run;
    /** Return the live runs, the oldest first, and what each waits for. */
    list(): Promise<LiveRun[]>;
    /**
    * Yield the records of a run in the journal from `fromSeq` on, also of a run of an earlier daemon. The generator
     * returns the completion, or undefined if the journal has none yet. The daemon needs `--journal`.
     */
    replay(runId: string, fromSeq?: number): AsyncGenerator<JournalRecord, CompletedRecord | FailedRecord | undefined>;
    /** End the runs: `drain` lets them finish, `cancel` cancels them. Resolve when no run is left. Then call `close`. */
    shutdown(mode?: "drain" | "cancel"): Promise<void>;
    /** Cancel the live runs and end the daemon. No process of the daemon is left when this resolves. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
    /** @internal */
    [start](prompt: string, { signal, runId, ...rest }: RunOptions, release: () => Promise<void>): Run;
}
export {};
