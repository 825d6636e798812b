"""Test the TypeScript client in Node with the real `codex-adapter` and a scripted agent."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from codex_adapter.testing import Exit, Hang, PrintJson, ReadPrompt, Repeat, Step, WaitFor, WriteStderr
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from ..waiting import SOON
from .conftest import Node

pytestmark = pytest.mark.rule("J17")

BEGUN: tuple[Step, ...] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
GOOD = (
    *BEGUN,
    PrintJson(command_started("item_0", "make")),
    PrintJson(command_completed("item_0", "make", "no rule\n", exit_code=2)),
    PrintJson(agent_message("item_1", "Fixed \u2028 ü \U0001f980.")),
    PrintJson(turn_completed()),
)
MANY = 300
"""Events of a run; several times those that may wait in the client."""
LONG = (
    *BEGUN,
    *(PrintJson(agent_message(f"item_{n}", f"Message {n}.")) for n in range(MANY)),
    PrintJson(turn_completed()),
)
HANGING = (*BEGUN, Hang())
FLOOD = (*BEGUN, Repeat(json.dumps(agent_message("item_0", "x" * 1000))))
SECRET = "plainly-a-secret-8f2c"


@pytest.mark.rule("C23")
def test_a_run_can_be_of_another_agent(node: Node) -> None:
    node.cli.env["PYTHONPATH"] = str(Path(__file__).parents[1] / "toy")
    program = """
        const one = run("hello", { agentKind: "toy" });
        say((await one.completion).final_text);
        const daemon = await openDaemon({ args: ["--agent", "toy", "--agent", "codex", ...args] });
        for (const agentKind of ["toy", "codex"]) say((await daemon.run("x", { agentKind }).completion).final_text);
        await daemon.close();
        """
    said = node.run(program, node.agent(*GOOD))
    assert said == ["You said: hello", "You said: x", "Fixed \u2028 ü \U0001f980."]


@pytest.mark.rule("F15")
def test_a_run_that_is_stopped_has_the_tokens_that_it_has_used(node: Node) -> None:
    node.cli.env["PYTHONPATH"] = str(Path(__file__).parents[1] / "toy")
    program = """
        const ends = [
          (r) => r.cancel(),
          (r) => r.cancel({ reason: new Error("why") }),
          () => {},
        ].map(async (end, n) => {
          const r = run("hang", { agentKind: "toy", ...(n === 2 && { args: ["--tool-timeout", "1"] }) });
          for await (const event of r) if (event.kind === "tool_call") end(r);
          return caught(r.completion);
        });
        for (const it of await Promise.all(ends))
          say([it.name, it.runUsage, it.costUsd ?? null, it.cause?.message ?? null]);
        """
    used = {"tokens": 3}
    assert node.run(program, node.agent(*GOOD)) == [
        ["RunCancelled", used, None, None],
        ["RunCancelled", used, None, "why"],
        ["RunTimedOut", used, None, None],
    ]


def test_a_run_gives_the_records_of_the_command(node: Node) -> None:
    agent = node.agent(*GOOD)
    said = node.run(
        """
        const r = run("x", { args });
        for await (const event of r) say(event);
        say(await r.completion);
        say(r.sessionId === (await r.completion).session_id);
        """,
        agent,
    )
    assert said == [*node.cli.run("run", "--codex", agent, "x").records, True]


def test_a_daemon_has_ended_when_the_completion_of_its_only_run_is_there(node: Node) -> None:
    with node.start(
        "await run('x', { args }).completion; say('there'); setInterval(() => {}, 1000);", node.agent(*GOOD)
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b'"there"\n'
        assert [process.pid for process in node.survivors.now()] == [program.pid]
        program.kill()


def test_a_completion_that_is_awaited_alone_drops_the_events_and_says_so(node: Node) -> None:
    said = node.run(
        """
        const r = run("x", { args });
        say((await r.completion).final_text);
        try { for await (const event of r) say(event); } catch (error) { say(error.message); }
        """,
        node.agent(*LONG),
    )
    dropped = "The events were dropped. Start the loop before you await the completion."
    assert said == [f"Message {MANY - 1}.", dropped]


def test_a_completion_that_is_asked_for_before_the_loop_drops_nothing(node: Node) -> None:
    said = node.run(
        """
        const r = run("x", { args });
        const completion = r.completion;
        let count = 0;
        for await (const event of r) count++;
        say([count, (await completion).turn]);
        """,
        node.agent(*LONG),
    )
    assert said == [[MANY + 3, "completed"]]


@pytest.mark.rule("D3")
def test_a_consumer_that_leaves_early_gets_the_completion(node: Node) -> None:
    said = node.run(
        """
        const r = run("x", { args });
        for await (const event of r) if (event.kind === "text_output") break;
        for await (const event of r) say(event);
        say((await r.completion).final_text);
        """,
        node.agent(*LONG),
    )
    assert said == [f"Message {MANY - 1}."]


@pytest.mark.rule("J9")
def test_a_slow_consumer_holds_its_own_run_only(node: Node) -> None:
    flooding, good = node.agent(*FLOOD, name="flood"), node.agent(*GOOD, name="good")
    agent = node.cli.directory / "codex"
    agent.write_text(f'#!/bin/sh\n[ "$1" = --version ] || mkdir slow 2>&- || exec {good} "$@"\nexec {flooding} "$@"\n')
    agent.chmod(0o755)
    said = node.run(
        """
        const daemon = await openDaemon({ args });
        const slow = daemon.run("slow", { runId: "slow" });
        await slow.next();
        const others = await Promise.all([1, 2, 3].map(() => daemon.run("x").completion));
        say(others.map((it) => it.turn));
        let live;
        do [live] = await daemon.list(); while (live.waitsFor !== "credit");
        say([live.runId, live.events]);
        for (let taken = 1; taken < 1000; taken++) await slow.next();
        slow.cancel();
        say((await slow.next()).done);
        say((await caught(slow.completion)).name);
        await daemon.close();
        """,
        str(agent),
    )
    assert said == [["completed"] * 3, ["slow", 64], True, "RunCancelled"]


@pytest.mark.parametrize("steps", [HANGING, FLOOD], ids=["hanging", "flooding"])
def test_an_abort_signal_cancels_and_is_the_cause(node: Node, steps: tuple[Step, ...]) -> None:
    said = node.run(
        """
        const button = new AbortController();
        const r = run("x", { args, signal: button.signal });
        for await (const event of r) button.abort(new Error("pressed"));
        const error = await caught(r.completion);
        say([error.name, error instanceof AdapterError, error.cause.message]);
        say([(await caught(run("x", { args, signal: button.signal }).completion)).name]);
        const { getEventListeners } = await import("node:events");
        say(getEventListeners(button.signal, "abort").length);
        """,
        node.agent(*steps),
    )
    assert said == [["RunCancelled", True, "pressed"], ["RunCancelled"], 0]


def test_disposing_of_a_run_and_of_a_daemon_ends_them(node: Node) -> None:
    said = node.run(
        """
        const daemon = await openDaemon({ args });
        const [one, two] = [daemon.run("x"), daemon.run("x")];
        await one.next();
        await one[Symbol.asyncDispose]();
        say((await caught(one.completion)).name);
        await two.next();
        await daemon[Symbol.asyncDispose]();
        say((await caught(two.completion)).name);
        say(await daemon.ended);
        say((await caught(daemon.run("x").completion)).name);
        """,
        node.agent(*HANGING),
    )
    ended: dict[str, object] = {"code": 0, "signal": None, "unfinished": []}
    assert said == ["RunCancelled", "RunCancelled", ended, "DaemonError"]


def test_many_runs_at_once_come_whole_and_in_order(node: Node) -> None:
    said = node.run(
        """
        const daemon = await openDaemon({ args: [...args, "--max-runs", "4"] });
        await Promise.all(Array.from({ length: 12 }, async () => {
          const r = daemon.run("x"), texts = [];
          for await (const event of r) if (event.kind === "text_output") texts.push(event.text);
          say([texts, (await r.completion).turn]);
        }));
        await daemon.close();
        """,
        node.agent(*LONG),
    )
    assert said == [[[f"Message {n}." for n in range(MANY)], "completed"]] * 12


@pytest.mark.rule("N2")
@pytest.mark.parametrize("steps", [HANGING, FLOOD], ids=["hanging", "flooding"])
def test_a_daemon_that_is_killed_is_reported_with_its_runs(node: Node, steps: tuple[Step, ...]) -> None:
    program = """
        const daemon = await openDaemon({ args });
        const runs = ["a", "b"].map((runId) => daemon.run("x", { runId }));
        for (const r of runs) await r.next();
        say("under way");
        for (const r of runs) for await (const event of r);
        for (const r of runs) {
          const error = await caught(r.completion);
          say([error.name, error.message, error.unfinished]);
        }
        say((await caught(daemon.run("x").completion)).name);
        say((await caught(daemon.list())).name);
        say(await daemon.ended);
        await daemon.close();
    """
    with node.start(program, node.agent(*steps)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'"under way"\n'
        (daemon,) = [it.pid for it in node.survivors.children(process.pid) if " serve " in it.argv + " "]
        os.kill(daemon, signal.SIGKILL)
        done = node.cli.finish(process)
    assert (done.status, done.stderr) == (0, "")
    message = "The daemon has exited (SIGKILL). Unfinished runs: a, b."
    ended = {"code": None, "signal": "SIGKILL", "unfinished": ["a", "b"]}
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said == [["DaemonError", message, ["a", "b"]]] * 2 + ["DaemonError", "DaemonError", ended]


@pytest.mark.rule("J10")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_is_killed_leaves_nothing(node: Node, number: signal.Signals) -> None:
    program = "const r = run('x', { args }); for await (const event of r) say(event.kind);"
    with node.start(program, node.agent(*HANGING)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'"status"\n'
        process.send_signal(number)
        assert process.wait(SOON) == -number
    assert node.survivors.soon(SOON) == []


def test_ctrl_c_reaches_the_program_alone(node: Node) -> None:
    program = """
        const { writeFileSync } = await import("node:fs");
        process.on("SIGINT", () => writeFileSync(words[0], ""));
        const r = run("x", { args });
        for await (const event of r) say(event.kind);
        say((await r.completion).turn);
    """
    go = str(node.cli.directory / "go")
    agent = node.agent(*BEGUN, WaitFor(go), PrintJson(turn_completed()))
    with node.start(program, agent, go, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'"status"\n'
        os.killpg(process.pid, signal.SIGINT)
        done = node.cli.finish(process)
    assert (done.status, done.stdout.splitlines()[-1]) == (0, b'"completed"')


def test_a_failed_turn_is_a_completion_and_a_run_without_one_is_an_error(node: Node) -> None:
    (node.cli.directory / "text").write_text("not a program")
    said = node.run(
        """
        const { turn, status } = await run("x", { args }).completion;
        say([turn, status.code]);
        const errors = [
          run("x", { args: ["--codex", words[0]], timeout: 3 }),
          run("x", { args: ["--codex", words[0], "--idle-timeout", "3"] }),
          run("x", { args: ["--codex", "./text"], stderr: "ignore" }),
          run("x", { args: ["--codex", "./missing"], stderr: "ignore" }),
        ].map((r) => caught(r.completion));
        const { BackendError } = client;
        for (const it of await Promise.all(errors))
          say([it.name, it.failure, it.hint, Boolean(it.advice), it instanceof BackendError]);
        """,
        node.agent(*BEGUN, PrintJson(turn_failed("no luck")), Exit(3)),
        node.agent(*HANGING, name="hanging"),
    )
    timed_out, not_started = (["RunTimedOut", "timeout"], ["SpawnError", "spawn"])
    ends = [[*timed_out, "time_limit"], [*timed_out, "idle_limit"]]
    ends += [[*not_started, "cli_not_executable"], [*not_started, "cli_not_found"]]
    assert said == [["failed", 3], *([*end, True, True] for end in ends)]


@pytest.mark.rule("Q2", "Q3")
def test_refused_requests_reject_the_completion(node: Node) -> None:
    said = node.run(
        """
        const daemon = await openDaemon({ args });
        for (const [prompt, options] of [
          [" ", {}], ["x", { workingDir: "/" }], ["x", { timeout: -1 }], ["x", { extensions: { "no.such.key": 1 } }],
          ["x", { timeout: 1n }], ["\\ud800", {}], ["x".repeat(17 * 1024 * 1024), {}], ["x", { runId: "-" }],
        ]) {
          const r = daemon.run(prompt, options);
          for await (const event of r) say(event);
          const error = await caught(r.completion);
          say([error.name, error.kind]);
        }
        const [one, two] = [daemon.run("x", { runId: "a" }), daemon.run("x", { runId: "a" })];
        say([(await one.completion).turn, (await caught(two.completion)).name]);
        await daemon.close();
        """,
        node.agent(*GOOD),
    )
    refused = ["InvalidRequestError", "invalid_request"]
    unsupported = ["UnsupportedCapabilityError", "unsupported_capability"]
    assert said == [*[refused] * 3, unsupported, *[refused] * 4, ["completed", "InvalidRequestError"]]


@pytest.mark.rule("X1")
def test_no_error_holds_a_secret_or_the_prompt(node: Node) -> None:
    said = node.run(
        """
        const secret = words[0];
        const env = { API_TOKEN: secret };
        const daemon = await openDaemon({ args });
        const runs = [
          daemon.run(secret, { env }),
          daemon.run(secret, { env, timeout: -1 }),
          daemon.run(secret, { env, [secret]: 1 }),
          daemon.run(secret, { env, extensions: { [secret]: secret } }),
          run(secret, { env, command: ["sh", "-c", `echo ${secret}; cat`], stderr: "ignore" }),
          run(secret, { env, args: ["--codex", "./missing"], stderr: "ignore" }),
        ];
        for (const r of runs) {
          const error = await caught(r.completion);
          const shown = inspect([r, daemon, error], { depth: Infinity, showHidden: true, getters: true });
          say([error.name ?? error.it.turn, (shown + error.stack + JSON.stringify(error)).includes(secret)]);
        }
        await daemon.close();
        """,
        node.agent(*BEGUN, WriteStderr(SECRET), PrintJson(turn_failed(SECRET)), Exit(3)),
        SECRET,
    )
    names = ["failed", *["InvalidRequestError"] * 2, "UnsupportedCapabilityError", "DaemonError", "SpawnError"]
    assert [name for name, _ in said] == names
    # An unknown key is named in the error (Q2), and the daemon masks nothing in what its caller wrote.
    assert [leaked for _, leaked in said] == [False, False, False, True, False, False]


def test_a_run_that_fails_unseen_is_no_unhandled_rejection(node: Node) -> None:
    said = node.run(
        """
        run("", { args });
        const r = run("x", { command: ["./missing"] });
        for await (const event of r) say(event);
        const daemon = await openDaemon({ args });
        daemon.run("x");
        await daemon.close();
        """,
        node.agent(*HANGING),
    )
    assert said == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["sh", "-c", "echo hello; exec sleep 1000"], "The program does not use the protocol of"),
        (["sh", "-c", "exit 3"], r"The daemon has exited (status 3)"),
        (["./missing"], "codex-adapter cannot be started (ENOENT). Install codex-adapter, or pass"),
        (
            [
                "sh",
                "-c",
                """echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}'; exec sleep 1000""",
            ],
            "The program does not",
        ),
    ],
)
def test_what_is_no_daemon_is_a_daemon_error(node: Node, command: list[str], message: str) -> None:
    (said,) = node.run(
        "say((await caught(openDaemon({ command: JSON.parse(words[0]) }))).message);", "codex", json.dumps(command)
    )
    assert said.startswith(message)


@pytest.mark.rule("J12", "J13", "J14")
def test_the_journal_is_replayed_by_this_daemon_and_by_the_next(node: Node) -> None:
    said = node.run(
        """
        const journaled = { args: [...args, "--journal", "journal"] };
        const first = await openDaemon(journaled);
        const live = [];
        const r = first.run("x", { runId: "a" });
        for await (const event of r) live.push(event);
        const completion = await r.completion;
        const all = async (daemon, ...from) => {
          const records = [], replay = daemon.replay("a", ...from);
          for (;;) {
            const { value, done } = await replay.next();
            if (done) return [records, value];
            records.push(value);
          }
        };
        const without = ({ time, ...record }) => record;
        const check = ([records, end], from = 0) => say([
          JSON.stringify(records.map(without)) === JSON.stringify(live.slice(from)),
          JSON.stringify(without(end)) === JSON.stringify(completion),
          records.every((record) => !Number.isNaN(Date.parse(record.time))),
        ]);
        check(await all(first));
        await first.close();
        const second = await openDaemon(journaled);
        check(await all(second));
        check(await all(second, 100), 100);
        say((await caught(second.replay("b").next())).name);
        say((await caught(second.run("x", { runId: "a" }).completion)).name);
        await second.close();
        """,
        node.agent(*LONG),
    )
    assert said == [[True] * 3] * 3 + ["InvalidRequestError"] * 2


def test_a_shutdown_drains_the_runs_and_refuses_others(node: Node) -> None:
    said = node.run(
        """
        const daemon = await openDaemon({ args: [...args, "--max-runs", "1"] });
        const runs = [1, 2].map(() => daemon.run("x").completion);
        const down = daemon.shutdown();
        say((await caught(daemon.run("late").completion)).name);
        say((await Promise.all(runs)).map((it) => it.turn));
        await down;
        await daemon.close();
        """,
        node.agent(*LONG),
    )
    assert said == ["BackendError", ["completed"] * 2]
