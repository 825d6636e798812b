#!/usr/bin/env node
// Supervise many runs of the Codex CLI over one pipe. Needs only Node 18 or later.
//
//   node supervisor.mjs 'Fix the failing test' 'Write the missing docs' -- --max-runs 8 --idle-timeout 300
//   node supervisor.mjs --file requests.jsonl
// Each line of the file is the request of one run: {"prompt":"Fix it","working_dir":"app"}. Arguments after `--` are
// options of `codex-adapter serve`. Exit status: 0 if every run completed its turn, 130 or 143 after a signal, else 1.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const CREDIT = 64; // the limit of waiting events of one run; at the limit, only that run stops

const cut = process.argv.includes("--") ? process.argv.indexOf("--") : process.argv.length;
const [words, options] = [process.argv.slice(2, cut), process.argv.slice(cut + 1)];
const requests = words[0] !== "--file" ? words.map((prompt) => ({ prompt }))
  : readFileSync(words[1], "utf8").split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));

// A separate process group: Ctrl-C reaches only this process, which then decides. If this process dies, the stdin of
// the daemon ends, and the daemon cancels its runs and exits.
const daemon = spawn("codex-adapter", ["serve", ...options], { stdio: ["pipe", "pipe", "inherit"], detached: true });
const ended = once(daemon, "close").catch((error) => [error.code]); // such as ENOENT
daemon.stdin.on("error", () => {}); // the daemon ended: `read` detects it, too

const calls = new Map(); // the calls without an answer, by id
const runs = new Map(); // the runs without a completion, by id
let [lastId, unsuccessful, interrupted, fail] = [0, 0];
const failed = new Promise((_, reject) => (fail = reject)); // the daemon ended, or a handler threw
failed.catch(() => {}); // avoid an unhandled rejection while nothing waits for it

function send(message) {
  daemon.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function call(method, params) {
  const id = ++lastId;
  send({ id, method, params });
  return new Promise((resolve, reject) => calls.set(id, { resolve, reject }));
}

function say(id, words, text) {
  // Print a text as one line, without control characters.
  const safe = text && JSON.stringify(text).replace(/[\x7f-\x9f]/g, (it) => `\\u00${it.charCodeAt().toString(16)}`);
  process.stdout.write(`${id} ${words.concat(safe).filter(Boolean).join(" ")}\n`);
}

// Put your own work into these two functions. They can be slow: only their own run waits for them.
async function onEvent(id, { kind, text, message, data }) {
  say(id, [kind, data?.tool?.kind, data?.tool?.status], text ?? message);
}
async function onCompletion(id, { ok, outcome, turn, final_text: text, hint, error }) {
  if (!ok) unsuccessful++; // without a completion, `outcome` is `failed`, and `error` has the reason
  say(id, [outcome, turn, hint ?? error?.hint], text ?? error?.message);
}

function receive({ id, method, params, result, error }) {
  if (method === undefined) {
    const { resolve, reject } = calls.get(id) ?? { reject: fail }; // for a line that it could not parse, the id is null
    calls.delete(id);
    return error ? reject(Object.assign(new Error(error.message), error)) : resolve(result);
  }
  const { runId, event, completion } = params, run = runs.get(runId);
  // Handle the messages of a run in order, concurrently with other runs. At most CREDIT events wait.
  if (method === "run/event") run.work = run.work.then(() => onEvent(runId, event)).then(() => {
    if (++run.handled % (CREDIT / 2) === 0) send({ method: "run/credit", params: { runId, events: CREDIT / 2 } });
  });
  if (method === "run/completed") run.work = run.work.then(() => onCompletion(runId, completion)).then(run.end);
  run?.work.catch(fail);
}

async function read() {
  let rest = "";
  for await (const piece of daemon.stdout.setEncoding("utf8")) { // joins characters that were split
    const lines = (rest + piece).split("\n"); // not `readline`, which also ends lines at other characters
    rest = lines.pop(); // at the end, a killed daemon can leave a partial line
    for (const line of lines) receive(JSON.parse(line));
  }
  throw new Error(`the daemon closed its output; unfinished runs: ${[...runs.keys()].join(" ") || "none"}`);
}

async function start(runId, request) {
  // Register the run before the request: its first events can arrive together with the answer.
  const completed = new Promise((end) => runs.set(runId, { work: Promise.resolve(), handled: 0, end }));
  await call("run/start", { runId, agentKind: "codex", request, credit: CREDIT }).then(() => completed, (error) => {
    unsuccessful++;
    say(runId, ["refused", error.data?.kind], error.message);
  });
  runs.delete(runId);
}

async function executeAll() {
  await call("initialize", { protocolVersion: "1.0", clientInfo: { name: "supervisor.mjs" } });
  const batch = randomUUID(); // a journal accepts each id only once
  const done = requests.map((request, n) => start(`${batch}-${n + 1}`, request)); // runs above the limit are queued
  await call("shutdown", { mode: "drain" }); // answered when no run is left; a signal sends `cancel` instead
  await Promise.all(done);
}

function complain(message) {
  unsuccessful++;
  console.error(`supervisor: ${message}`);
}

const killLater = () => setTimeout(() => daemon.kill("SIGKILL"), 30_000).unref(); // if it does not stop by itself
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {
  if (interrupted) return daemon.kill("SIGTERM"); // the second signal ends agents without asking them
  interrupted = signal;
  call("shutdown", { mode: "cancel" }).catch(fail);
  killLater();
});
process.stdout.on("error", fail); // the reader of our output left
read().catch(fail);
await Promise.race([executeAll(), failed]).catch((error) => complain(error.message));
killLater();
daemon.stdin.end('{"jsonrpc":"2.0","method":"exit"}\n');
const [code, signal] = await ended;
if (code !== 0) complain(`the daemon ended with ${signal ?? code}`);
process.exitCode = { SIGINT: 130, SIGTERM: 143 }[interrupted] ?? (unsuccessful ? 1 : 0);
