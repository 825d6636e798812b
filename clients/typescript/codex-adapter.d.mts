// Compiled from codex-adapter.mts, SHA-256 42531da2567bd5e338537401f61b8bd4707f2f1841e936b903b75693d6a3134e. Do not edit.
/** The release of the agent's CLI and the model, as the CLI itself reports them in mid-run. */
export type AgentInfo = {
    schema: "codex_adapter.agent.v1";
    /** The release of the agent's CLI. */
    release?: string;
    /** The model. */
    model?: string;
};
/** The run to cancel. With `kill`, its agent is not asked first. */
export type CancelParams = {
    /** The id of the run. */
    runId: string;
    /** Whether the processes are killed at once. Otherwise the agent is asked to end first. */
    kill?: boolean;
};
/** The last record of a run that ended with a completion. */
export type CompletedRecord = {
    type: "completion";
    /** How the process of the agent ended. */
    status: ExitStatus;
    /** The last message of the agent. */
    final_text?: string;
    /** The last message as JSON, if the request has a schema for it. */
    data?: unknown;
    /** The id with which a later run can resume the session. */
    session_id?: string;
    /** How the turn ended. Without it, no turn was seen. */
    turn?: "completed" | "cut_off" | "failed";
    /** Counts of tokens at the end of the last turn, by the names of the CLI. They may count the whole session. */
    usage?: Record<string, number>;
    /** Counts of tokens of this run alone, if they are known. They are a lower bound if the turn did not complete. */
    run_usage?: Record<string, number>;
    /** The cost of the run in US dollars, as the CLI reports it. */
    cost_usd?: number;
    /** The cause of a failure, if it is known. */
    hint?: "answer_incomplete" | "budget_limit" | "cli_not_executable" | "cli_not_found" | "configuration_broken" | "context_too_long" | "endpoint_unknown" | "flag_unknown" | "forbidden" | "home_missing" | "idle_limit" | "input_too_long" | "mcp_server_failed" | "model_unknown" | "no_answer" | "no_network" | "not_a_git_repository" | "not_logged_in" | "overloaded" | "policy_refused" | "quota_exceeded" | "rate_limited" | "request_rejected" | "sandbox_unavailable" | "schema_ignored" | "server_error" | "session_unknown" | "stream_cut" | "time_limit" | "tool_limit" | "turn_limit";
    /** The next step for the hint, for a person. */
    advice?: string;
    /** The number of the record: one more than that of the last event. */
    seq: number;
    outcome: "completed";
    /** Whether the run succeeded. It is the only member that a program must check. */
    ok: boolean;
};
/** A replacement for a facet over its limit. */
export type Dropped = {
    /** Why the content is missing. */
    dropped: DroppedReason;
};
/** The reason why a facet is missing. */
export type DroppedReason = {
    /** `oversize`: the content was over its limit. */
    reason: "oversize";
};
/** The reason why a run failed without a completion. `kind` is the error's name on the wire and `message` its canonical message. `failure` is set for the kind `backend`. `hint` is a known cause, `advice` the next step. */
export type ErrorBody = {
    /** The name of the error. */
    kind: "invalid_request" | "unsupported_capability" | "unknown_backend" | "invalid_agent_kind" | "backend";
    /** What happened, for a person. It never quotes the agent. */
    message: string;
    /** Which part of the run failed, if `kind` is `backend`. */
    failure?: "cancelled" | "closed" | "invalid_request" | "io" | "other" | "session" | "spawn" | "timeout" | "wait";
    /** The cause, if it is known. */
    hint?: "answer_incomplete" | "budget_limit" | "cli_not_executable" | "cli_not_found" | "configuration_broken" | "context_too_long" | "endpoint_unknown" | "flag_unknown" | "forbidden" | "home_missing" | "idle_limit" | "input_too_long" | "mcp_server_failed" | "model_unknown" | "no_answer" | "no_network" | "not_a_git_repository" | "not_logged_in" | "overloaded" | "policy_refused" | "quota_exceeded" | "rate_limited" | "request_rejected" | "sandbox_unavailable" | "schema_ignored" | "server_error" | "session_unknown" | "stream_cut" | "time_limit" | "tool_limit" | "turn_limit";
    /** The next step, for a person. */
    advice?: string;
};
/** The origin of an error that the CLI reported: a warning item or an `error` line. Neither is terminal. */
export type ErrorSource = {
    schema: "codex_adapter.error.v1";
    /** `item` for a warning of the agent, `event` for an error of its stream. Neither ends the run. */
    source: "event" | "item";
};
/** One event of a run. */
export type EventRecord = {
    type: "event";
    /** The number of the event, from 0 and without gaps. */
    seq: number;
    /** The kind of the agent. */
    agent_kind: string;
    /** What happened. */
    kind: "error" | "status" | "text_output" | "tool_call" | "tool_result" | "unknown";
    /** The group of the event: `assistant`, `tool`, `status` or `error`. */
    channel?: string;
    /** The text of a `text_output`. */
    text?: string;
    /** The text of an error, and of some status events. */
    message?: string;
    /** What a program needs of the event, by its `schema`. */
    data?: TextPart | ToolCall | SessionHandle | TokenUsage | Plan | ErrorSource | HintNotice | Retry | RateLimit | AgentInfo | UnknownLine | Dropped;
};
/** The run whose events are read, and the number of the first event. */
export type EventsParams = {
    /** The id of the run. */
    runId: string;
    /** The number of the first event to return. */
    fromSeq?: number;
};
/** Records of a run from its journal, and its completion if the records reach it. */
export type EventsResult = {
    /** The id of the run. */
    runId: string;
    /** Event records, the oldest first. */
    events: Array<EventRecord>;
    /** The `fromSeq` of the next call. */
    nextSeq: number;
    /** Whether the journal has further events now. */
    more: boolean;
    /** Whether the run has not ended. */
    live: boolean;
    /** The completion record, if the events of this page are the last ones. */
    completion?: CompletedRecord | FailedRecord;
};
/** The end of the agent's process: an exit `code`, or the name of the `signal` that killed it. */
export type ExitStatus = {
    /** The exit status. */
    code: number | null;
    /** The name of the signal that killed the process, for example `SIGKILL`. */
    signal: string | null;
};
/** The last record of a run without a completion. `hint` and `advice` are those of `error`. */
export type FailedRecord = {
    type: "completion";
    /** The number of the record: one more than that of the last event. */
    seq: number;
    outcome: "failed";
    /** False: the run did not succeed. */
    ok: boolean;
    /** Why the run failed. */
    error: ErrorBody;
    /** The id of the session, if the agent reported it. */
    session_id?: string;
    /** Counts of tokens that the run has used at least, if the agent reported them. */
    run_usage?: Record<string, number>;
    /** The cost of the run in US dollars that the agent reported before its end. */
    cost_usd?: number;
    /** The cause, if it is known. */
    hint?: "answer_incomplete" | "budget_limit" | "cli_not_executable" | "cli_not_found" | "configuration_broken" | "context_too_long" | "endpoint_unknown" | "flag_unknown" | "forbidden" | "home_missing" | "idle_limit" | "input_too_long" | "mcp_server_failed" | "model_unknown" | "no_answer" | "no_network" | "not_a_git_repository" | "not_logged_in" | "overloaded" | "policy_refused" | "quota_exceeded" | "rate_limited" | "request_rejected" | "sandbox_unavailable" | "schema_ignored" | "server_error" | "session_unknown" | "stream_cut" | "time_limit" | "tool_limit" | "turn_limit";
    /** The next step for the hint, for a person. */
    advice?: string;
};
/** A cause that is found while the run continues: a hint word and its advice. */
export type HintNotice = {
    schema: "codex_adapter.hint.v1";
    /** The cause. */
    hint: string;
    /** The next step, for a person. */
    advice: string;
};
/** The capabilities of the daemon. */
export type InitializeResult = {
    /** The version of the protocol that the daemon speaks. */
    protocolVersion: string;
    /** The program behind the daemon. */
    serverInfo: ServerInfo;
    /** The capabilities of each served agent, by its kind. */
    capabilities: Record<string, Array<string>>;
    /** The limits of the daemon. */
    limits: Limits;
    /** The strongest containment level of this machine, or null. */
    containment: string | null;
    /** Whether the daemon keeps a journal. */
    journal: boolean;
};
/** The limits of live agents, bytes of an incoming line, requests of a batch, and bytes of an event's text. `queue` is whether further runs wait. */
export type Limits = {
    /** The limit of agents that run at the same time. */
    maxRuns: number;
    /** Whether further runs wait. Otherwise they are refused. */
    queue: boolean;
    /** The limit of one line to the daemon, in bytes. */
    maxMessageBytes: number;
    /** The limit of requests in one batch. */
    maxBatch: number;
    /** The limit of the text of one event, in bytes of UTF-8. */
    maxTextBytes: number;
};
/** The live runs, the oldest first. */
export type ListResult = {
    /** The live runs, the oldest first. */
    runs: Array<LiveRun>;
};
/** A live run, and what it waits for. */
export type LiveRun = {
    /** The id of the run. */
    runId: string;
    /** The kind of its agent. */
    agentKind: string;
    /** The seconds since the daemon accepted the run. */
    ageSeconds: number;
    /** The number of events that were sent. */
    events: number;
    /** What the run waits for now. */
    waitsFor: "agent" | "credit" | "end" | "slot" | "start" | "supervisor";
    /** Whether no further events of the run are sent. */
    detached: boolean;
};
/** A masked text of at most 16 KiB. `truncated` is True if the original was longer. */
export type PayloadText = {
    /** The text, masked and bounded. */
    text: string;
    /** Whether the text is longer than its limit. */
    truncated: boolean;
};
/** The agent's whole plan as of this event. */
export type Plan = {
    schema: "codex_adapter.plan.v1";
    /** All steps, in their order. */
    items: Array<PlanItem>;
};
/** One step of the agent's plan. `status` is None if the agent reports only whether the step is completed. */
export type PlanItem = {
    /** The step. */
    text: string;
    /** Whether the step is done. */
    completed: boolean;
    /** The state of the step, if the agent reports one. */
    status?: "completed" | "in_progress" | "pending";
};
/** A limit of the account, as the agent reports it. `window` is the agent's name of the kind of limit. `resets_at` is a time in seconds since 1970. `utilization` is the used part, where 1 is all. `hint` is set if the limit is reached. */
export type RateLimit = {
    schema: "codex_adapter.rate_limit.v1";
    /** The state of the limit. */
    status: "allowed" | "rejected" | "unknown" | "warning";
    /** The agent's name of the limit. */
    window?: string;
    /** The time when the limit is lifted, in seconds since 1970. */
    resets_at?: number;
    /** The used part of the limit. 1 is all. */
    utilization?: number;
    /** The cause, if the limit is reached. */
    hint?: string;
};
/** The agent's notice that a model request failed and that it tries again. `number` counts the retries of this request from 1, up to `max_retries`. `delay` is the time until the retry, in seconds. `http_status` is the status of the failed answer. `hint` is the cause. */
export type Retry = {
    schema: "codex_adapter.retry.v1";
    /** The number of the retry, from 1. */
    number?: number;
    /** The most retries of this request. */
    max_retries?: number;
    /** The time until the retry, in seconds. */
    delay?: number;
    /** The HTTP status of the failed answer. */
    http_status?: number;
    /** The cause, if it is known. */
    hint?: string;
};
/** Why a request was not executed. */
export type RpcError = {
    /** The number of the error: those of JSON-RPC 2.0, -32002 before `initialize`, and -32010 for a refused run. */
    code: number;
    /** The reason, for a person. */
    message: string;
    /** Facts about a refused run or turn, for a program: `kind`, `failure`, `hint`, `advice` and others. */
    data?: Record<string, string | boolean> | null;
};
/** A request for a run. */
export type RunRequest = {
    /** The task for the agent, which gets it unchanged. */
    prompt: string;
    /** The directory in which the agent works. Without it, that of this process. */
    working_dir?: string | null;
    /** The limit for the whole run, in seconds. */
    timeout?: number | null;
    /** Variables to add to the environment of the agent. */
    env?: Record<string, string>;
    /** Options of the agent, by their keys. */
    extensions?: {
        "agent_api.config.model.v1"?: string;
        "backend.claude_code.exec.sandbox_mode"?: "read-only" | "workspace-write" | "danger-full-access";
        "backend.claude_code.exec.trust_project"?: boolean;
        "agent_api.exec.non_interactive"?: boolean;
        "agent_api.exec.add_dirs.v1"?: {
            dirs: Array<string>;
        };
        "backend.claude_code.images"?: Array<string>;
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
        "backend.claude_code.require_mcp_servers"?: boolean;
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
        "backend.pi.provider"?: string;
        "backend.pi.thinking"?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh";
        "backend.pi.exec.sandbox_mode"?: "read-only" | "danger-full-access";
        "backend.pi.exec.trust_project"?: boolean;
        "backend.pi.images"?: Array<string>;
        "backend.pi.skills"?: string;
        "backend.pi.tools"?: "all" | "none";
        "backend.pi.tool_payloads"?: "metadata" | "full";
    };
    /** The caller's own words for the run. A journal keeps them; the agent never sees them. */
    labels?: Record<string, string>;
};
/** The name and the version of the daemon. */
export type ServerInfo = {
    /** The name of the program. */
    name: string;
    /** The version of this package. */
    version: string;
};
/** The id with which a later run can resume or fork this session. */
export type Session = {
    /** The id with which a later run can resume or fork the session. */
    id: string;
};
/** The session's id, reported once per run on a status event. */
export type SessionHandle = {
    schema: "agent_api.session.handle.v1";
    /** The session. */
    session: Session;
};
/** Whether the live runs are finished or cancelled. */
export type ShutdownParams = {
    /** `drain` lets the live runs end by themselves; `cancel` cancels them. */
    mode?: "cancel" | "drain";
};
/** The run to start. */
export type StartParams = {
    /** The id of the new run: 1 to 128 letters, digits, `.`, `_` and `-`. Without it, the daemon chooses one. */
    runId?: string | null;
    /** The kind of the agent. */
    agentKind: string;
    /** The request of the run. */
    request: RunRequest;
    /** The number of events that may be sent before `run/credit`. Without it, there is no limit. */
    credit?: number | null;
};
/** The place of a text_output: its item, the phase of the text, and the number of the piece. With the `phase` `delta` the text is appended; with any other phase it is a snapshot of the whole text. A text over the limit is split over `parts` events; `part` counts from 1. `parent_id` is the id of the tool call that started the sub-agent, or None for the agent itself. */
export type TextPart = {
    schema: "codex_adapter.text.v1";
    /** The id of the text. Pieces of one text have the same id. */
    item_id: string | null;
    /** The kind of the text, for example `agent_message` or `reasoning`. */
    item_type: string;
    /** With `delta`, the text is appended. With any other phase, it is the whole text. */
    phase: "complete" | "delta" | "snapshot" | "start";
    /** The number of this part of a long text, from 1. */
    part: number;
    /** The number of parts of the text. */
    parts: number;
    /** The id of the tool call that started the sub-agent. Without it, the event is the agent's own. */
    parent_id?: string;
};
/** The token counts of a turn's end, with the names that the CLI uses. `cost_usd` is the cost of this turn in US dollars as the CLI reports it, or None. */
export type TokenUsage = {
    schema: "codex_adapter.usage.v1";
    /** Counts of tokens, by the names of the CLI. */
    usage: Record<string, number>;
    /** The cost of the turn in US dollars, as the CLI reports it. */
    cost_usd?: number;
};
/** The current state of one tool call. `kind` is one of `TOOL_KINDS`, `status` the item's own. `parent_id` is the id of the tool call that started the sub-agent, or None for the agent itself. */
export type Tool = {
    /** The agent's id of the call. The call and its result have the same id. */
    backend_item_id: string | null;
    /** The id of the session. */
    thread_id: string | null;
    /** The id of the turn. */
    turn_id: string | null;
    /** What the tool does, by the same words for all agents. */
    kind: string;
    /** Whether the call starts, continues or ends. */
    phase: "complete" | "delta" | "fail" | "start";
    /** The state of the call. */
    status: "completed" | "failed" | "pending" | "running" | "unknown";
    /** The exit status of a command, if it is known. */
    exit_code: number | null;
    /** The sizes of the output. */
    bytes: ToolBytes;
    /** The agent's name of the tool. */
    tool_name: string | null;
    /** The id that the model gave the call, if the agent reports it. */
    tool_use_id: string | null;
    /** The id of the tool call that started the sub-agent. Without it, the event is the agent's own. */
    parent_id?: string;
};
/** Sizes of a tool's output, in bytes of UTF-8. */
export type ToolBytes = {
    /** Bytes of standard output. */
    stdout: number;
    /** Bytes of standard error. */
    stderr: number;
    /** Bytes of the changes to files. */
    diff: number;
    /** Bytes of any other result. */
    result: number;
};
/** The facet of every tool_call and tool_result. `input` and `output` are optional payloads. */
export type ToolCall = {
    schema: "agent_api.tools.structured.v1";
    /** The state of the call. */
    tool: Tool;
    /** The input, with full payloads only. */
    input?: ToolInput;
    /** The output, with full payloads only. */
    output?: ToolOutput;
};
/** The input of a tool call, in the field that fits its kind. */
export type ToolInput = {
    /** The command. */
    command?: PayloadText;
    /** The changes to files, as JSON. */
    changes?: PayloadText;
    /** The MCP server. */
    server?: PayloadText;
    /** The tool of the MCP server. */
    tool?: PayloadText;
    /** The arguments of the call, as JSON. */
    arguments?: PayloadText;
    /** The query of a search. */
    query?: PayloadText;
};
/** The output of a tool call. */
export type ToolOutput = {
    /** The output of a command. */
    aggregated_output?: PayloadText;
    /** The result of any other tool. */
    result?: PayloadText;
    /** The message of a failed call. */
    error?: PayloadText;
};
/** A well-formed line of an unknown type: only its two type names, masked and cut. */
export type UnknownLine = {
    schema: "codex_adapter.unknown.v1";
    /** The type of the line. */
    type: string | null;
    /** The type of its item. */
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
    /** The kind of the agent, by default `codex`. `run` starts a daemon that serves it. `openDaemon` needs `--agent` in `args`. */
    agentKind?: string;
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
type Used = {
    runUsage?: Record<string, number>;
    costUsd?: number;
};
/**
 * The run failed without a completion. `hint` is the cause, if it is known. `advice` is the next step. `runUsage` and
 * `costUsd` are the tokens and the US dollars that the run has used at least, if the agent reported them.
 */
export declare class BackendError extends AdapterError {
    name: string;
    readonly failure: Failure;
    readonly hint: Hint | undefined;
    readonly advice: string | undefined;
    readonly runUsage: Record<string, number> | undefined;
    readonly costUsd: number | undefined;
    constructor(message: string, more?: {
        failure?: Failure;
        hint?: Hint;
        advice?: string;
        cause?: unknown;
    } & Used);
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
    [completed](outcome: CompletedRecord | AdapterError, record?: CompletedRecord | FailedRecord): void;
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
    [start](prompt: string, { signal, runId, agentKind, ...rest }: RunOptions, release: () => Promise<void>): Run;
}
export {};
