// Hold several conversations at once over one `codex-adapter serve`. Needs Node 18 or later; compiled by `tsc`.
//
//   node conversation.mjs PLAN.json -- --codex codex
//
// The plan is {"turn": {...}, "conversations": {"NAME": {"cwd": "/absolute", "prompts": ["first", "second"]}}}. `turn`
// has the params of `turns/run` for all turns, such as aspHome, spec and harness. With "seconds" beside the prompts, a
// turn that takes longer is cancelled. The output is one line of JSON for each turn: its ids, its response and its
// events. Exit status: 0 if every turn succeeded, else 1.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

type Result = { success: boolean; finalOutput?: string; error?: { message: string; code?: string } };
type Response = { harness: string; result: Result; harnessSessionId?: string; model?: string };
type AgentEvent = { type: string; seq: number; externalRunId: string; [field: string]: unknown };
type Turn = { aspHome: string; spec: object; harness: string; env?: Record<string, string> };
type Talk = { cwd: string; prompts: string[]; seconds?: number };
type Plan = { turn: Turn; conversations: Record<string, Talk> };
type Call = { resolve: (result: unknown) => void; reject: (error: Error) => void };

class Daemon {
  private readonly calls = new Map<number, Call>();
  private readonly listeners = new Map<string, (event: AgentEvent) => void>();
  private readonly child;
  private readonly ended: Promise<unknown>;
  private lastId = 0;

  constructor(options: string[]) {
    this.child = spawn("codex-adapter", ["serve", ...options], { stdio: ["pipe", "pipe", "inherit"] });
    this.ended = once(this.child, "close").catch((error: Error) => this.fail(error)); // such as ENOENT
    this.child.stdin.on("error", () => {}); // the daemon ended: the end of its output shows that, too
    createInterface({ input: this.child.stdout, crlfDelay: Infinity })
      .on("line", (line: string) => this.take(JSON.parse(line)))
      .on("close", () => this.fail(new Error("the daemon ended")));
  }

  call<T>(method: string, params: object): Promise<T> {
    const id = ++this.lastId;
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    return new Promise<T>((resolve, reject) => this.calls.set(id, { resolve: resolve as Call["resolve"], reject }));
  }

  /** Run one turn: pass its events in order to `onEvent`, and return its response. */
  async turn(params: Turn & Record<string, unknown>, onEvent: (event: AgentEvent) => void): Promise<Response> {
    const run = String(params.externalRunId);
    this.listeners.set(run, onEvent);
    try {
      return await this.call<Response>("turns/run", params);
    } finally {
      this.listeners.delete(run);
    }
  }

  /** Cancel a turn: it ends, and `turn` throws when no process of it is left. */
  async cancel(externalRunId: string): Promise<void> {
    await this.call("turns/cancel", { externalRunId }).catch(() => {}); // an ended daemon has no turn
  }

  async end(): Promise<void> {
    this.child.stdin.end(); // cancels all active turns
    await this.ended;
  }

  private take(message: any): void {
    if (message.method === "turns/event") {
      this.listeners.get(message.params.externalRunId)?.(message.params.event);
      return;
    }
    const call = this.calls.get(message.id);
    this.calls.delete(message.id);
    if (message.error) call?.reject(new Error(message.error.message));
    else call?.resolve(message.result);
  }

  private fail(error: Error): void {
    for (const call of this.calls.values()) call.reject(error);
    this.calls.clear();
  }
}

/** Run the turns of one conversation in order. Each continues the session of the one before. */
async function hold(daemon: Daemon, turn: Turn, name: string, { cwd, prompts, seconds }: Talk): Promise<boolean> {
  let harnessSessionId: string | undefined;
  for (const [number, prompt] of prompts.entries()) {
    const ids = { externalSessionId: name, externalRunId: `${name}/${number}` };
    const events: AgentEvent[] = [];
    const clock = seconds ? setTimeout(() => daemon.cancel(ids.externalRunId), seconds * 1000) : undefined;
    const params = { ...turn, ...ids, cwd, prompt, harnessSessionId };
    const response = await daemon.turn(params, (event) => events.push(event)).finally(() => clearTimeout(clock));
    console.log(JSON.stringify({ ...ids, response, events }));
    if (!response.result.success) return false;
    harnessSessionId = response.harnessSessionId;
  }
  return true;
}

const [file, ...options] = process.argv.slice(2).filter((word) => word !== "--");
const plan: Plan = JSON.parse(readFileSync(file, "utf8"));
const daemon = new Daemon(options);
try {
  await daemon.call("initialize", { protocolVersion: "1.0", clientInfo: { name: "conversation" } });
  const talks = Object.entries(plan.conversations);
  const failed = (name: string) => (error: Error) => console.error(`conversation ${name}: ${error.message}`);
  const went = await Promise.all(talks.map(([name, talk]) => hold(daemon, plan.turn, name, talk).catch(failed(name))));
  process.exitCode = went.every(Boolean) ? 0 : 1;
} catch (error) {
  console.error(`conversation: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await daemon.end();
}
