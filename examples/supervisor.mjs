#!/usr/bin/env node
// Many runs of the Codex CLI behind one pipe. Node 18 or later, and nothing to install.
//
//   node supervisor.mjs 'Fix the failing test' 'Write the missing docs' -- --max-runs 8 --idle-timeout 300
//   node supervisor.mjs --file requests.jsonl
// A line of the file is the request of one run: {"prompt":"Fix it","working_dir":"app"}. What follows `--` are options
// of `codex-adapter serve`. Exit status: 0 when every run completed its turn, 130 or 143 after a signal, else 1.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const CREDIT = 64; // events of one run that may wait here; while they do, that run is held up, and no other

const cut = process.argv.includes("--") ? process.argv.indexOf("--") : process.argv.length;
const [words, options] = [process.argv.slice(2, cut), process.argv.slice(cut + 1)];
const requests = words[0] !== "--file" ? words.map((prompt) => ({ prompt }))
  : readFileSync(words[1], "utf8").split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));

// In a process group of its own, so that Ctrl-C reaches only us, and it is we who say what it means. When we die, in
// whatever way, the daemon finds its stdin at its end, cancels its runs and exits.
const daemon = spawn("codex-adapter", ["serve", ...options], { stdio: ["pipe", "pipe", "inherit"], detached: true });
const ended = once(daemon, "close").catch((error) => [error.code]); // such as ENOENT
daemon.stdin.on("error", () => {}); // the daemon is gone: `read` finds that out too

const calls = new Map(); // by their ids, those whose answer has not come
const runs = new Map(); // by their ids, those whose completion has not come
let [lastId, unsuccessful, interrupted, fail] = [0, 0];
const failed = new Promise((_, reject) => (fail = reject)); // the daemon is gone, or a handler of ours threw
failed.catch(() => {}); // only while there is work does somebody wait for it

function send(message) {
  daemon.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function call(method, params) {
  const id = ++lastId;
  send({ id, method, params });
  return new Promise((resolve, reject) => calls.set(id, { resolve, reject }));
}

function say(id, words, text) {
  // A text becomes one line, and none of its control characters reaches the terminal.
  const safe = text && JSON.stringify(text).replace(/[\x7f-\x9f]/g, (it) => `\\u00${it.charCodeAt().toString(16)}`);
  process.stdout.write(`${id} ${words.concat(safe).filter(Boolean).join(" ")}\n`);
}

// Your work goes into these two. They may take their time: only their own run waits for them.
async function onEvent(id, { kind, text, message, data }) {
  say(id, [kind, data?.tool?.kind, data?.tool?.status], text ?? message);
}
async function onCompletion(id, { ok, outcome, turn, final_text: text, hint, error }) {
  if (!ok) unsuccessful++; // where there is no completion, `outcome` is `failed`, and `error` says why
  say(id, [outcome, turn, hint ?? error?.hint], text ?? error?.message);
}

function receive({ id, method, params, result, error }) {
  if (method === undefined) {
    const { resolve, reject } = calls.get(id) ?? { reject: fail }; // of what it could not read, the id is null
    calls.delete(id);
    return error ? reject(Object.assign(new Error(error.message), error)) : resolve(result);
  }
  const { runId, event, completion } = params, run = runs.get(runId);
  // What comes of a run is dealt with in its order, and beside the others. Until it is cancelled, at most CREDIT wait.
  if (method === "run/event") run.work = run.work.then(() => onEvent(runId, event)).then(() => {
    if (++run.handled % (CREDIT / 2) === 0) send({ method: "run/credit", params: { runId, events: CREDIT / 2 } });
  });
  if (method === "run/completed") run.work = run.work.then(() => onCompletion(runId, completion)).then(run.end);
  run?.work.catch(fail);
}

async function read() {
  let rest = "";
  for await (const piece of daemon.stdout.setEncoding("utf8")) { // which joins characters that were cut in two
    const lines = (rest + piece).split("\n"); // not `readline`, for which more than this ends a line
    rest = lines.pop(); // at the end, what a daemon that was killed had not finished: no message
    for (const line of lines) receive(JSON.parse(line));
  }
  throw new Error(`the daemon has closed its output; unfinished: ${[...runs.keys()].join(" ") || "no run"}`);
}

async function start(runId, request) {
  // The run is known before it is asked for: its first events can come in one piece with the answer.
  const completed = new Promise((end) => runs.set(runId, { work: Promise.resolve(), handled: 0, end }));
  await call("run/start", { runId, agentKind: "codex", request, credit: CREDIT }).then(() => completed, (error) => {
    unsuccessful++;
    say(runId, ["refused", error.data?.kind], error.message);
  });
  runs.delete(runId);
}

async function carryOut() {
  await call("initialize", { protocolVersion: "1.0", clientInfo: { name: "supervisor.mjs" } });
  const batch = randomUUID(); // a journal takes every id only once
  const done = requests.map((request, n) => start(`${batch}-${n + 1}`, request)); // those without a place are queued
  await call("shutdown", { mode: "drain" }); // answered when no run is left; an interrupt makes it `cancel`
  await Promise.all(done);
}

function complain(message) {
  unsuccessful++;
  console.error(`supervisor: ${message}`);
}

const killLater = () => setTimeout(() => daemon.kill("SIGKILL"), 30_000).unref(); // should it not stop by itself
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {
  if (interrupted) return daemon.kill("SIGTERM"); // which, the second time, asks no agent any more
  interrupted = signal;
  call("shutdown", { mode: "cancel" }).catch(fail);
  killLater();
});
process.stdout.on("error", fail); // nobody reads what we say
read().catch(fail);
await Promise.race([carryOut(), failed]).catch((error) => complain(error.message));
killLater();
daemon.stdin.end('{"jsonrpc":"2.0","method":"exit"}\n');
const [code, signal] = await ended;
if (code !== 0) complain(`the daemon ended with ${signal ?? code}`);
process.exitCode = { SIGINT: 130, SIGTERM: 143 }[interrupted] ?? (unsuccessful ? 1 : 0);
