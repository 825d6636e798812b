"""Execute `codex-adapter doctor`: check the installation, and whether a run can start (C4, N3, H13)."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec
import trio
from msgspec.structs import replace

from codex_adapter.agent import Agent
from codex_adapter.cli.agent_options import (
    add_agent_kind,
    add_program_options,
    examples_for,
    find_agents,
    program_config,
    the_agent,
)
from codex_adapter.cli.arguments import Command, Once, Parser, json_lines_or_pretty
from codex_adapter.cli.doctor.findings import finding_lines, printable_findings, release_lines
from codex_adapter.cli.doctor.orphans import orphans_text, report_orphans
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.levels import FoundLevel, find_levels
from codex_adapter.cli.output import Output
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.versions import installed_version
from codex_adapter.file_systems import PATIENCE
from codex_adapter.findings import BinaryReport, Finding
from codex_adapter.runtime.containment.exits import why_no_pidfd
from codex_adapter.workspace import Sandbox, WorkspaceError, find_sandbox

__all__ = ["COMMAND"]


_DESCRIPTION = """\
Check what a run needs: {}, its release, its login, and this machine. No secret is shown, and no value of an
environment variable except the path of the program.

--orphans lists processes of runs whose adapter was killed.

--probe runs the agent CLI with a scripted model server on the loopback interface, in temporary directories. It reports
which promises of the adapter hold with this program. It usually needs less than 30 seconds. It needs no login and no
network, and uses no settings of yours.

exit status:
  0              A run can start. With --orphans: no process is left. With --probe: no promise is broken.
  1              Otherwise.
  2              The command line is wrong.
  3              Only the login is missing (with --require-login).
"""
_EXAMPLES = """\
  codex-adapter doctor
  codex-adapter doctor --json | jq .ok
  codex-adapter doctor --orphans --kill
  codex-adapter doctor --probe
"""
_NO_LOGIN = 3
_USER_NAMESPACE = (
    "In this namespace, files of root belong to the user `nobody`, and set-uid programs get no rights. An agent's ssh "
    "can refuse the system's configuration; sudo and rootless podman fail. If your agents need them, use "
    "--containment-max guard."
)


class _Report(msgspec.Struct, frozen=True):
    """The output of `--json`. No field contains a secret."""

    ok: bool
    adapter: str
    python: str
    trio: str
    msgspec: str
    containment: str
    containment_levels: list[str]
    sandbox: str
    agent_sandbox: bool | None
    binary: BinaryReport | None
    login: dict[str, bool]
    findings: list[Finding]
    agent: str
    logged_in: bool


def _parser(words: Sequence[str]) -> Parser:
    agent = find_agents(words)[0]
    parser = Parser("doctor", "[OPTIONS]", _DESCRIPTION.format(agent.name), examples_for(agent, "doctor", _EXAMPLES))
    add = parser.add_argument
    add_agent_kind(parser)
    add_program_options(parser, agent)
    add("--verbose", action="store_true", help="also show the features and quirks of the release")
    add("--require-login", action="store_true", help="exit with 3 if no login is found")
    add("--json", action="store_true", help="print one JSON object instead of text")
    add("--orphans", action="store_true", help="list processes that killed adapters left running")
    add("--kill", action="store_true", help="with --orphans: end these processes, and remove their files")
    add("--probe", action="store_true", help="test whether the adapter's promises hold with this agent CLI")
    add(
        "--format",
        action=Once,
        type=json_lines_or_pretty,
        metavar="FORMAT",
        help="with --probe: jsonl or pretty (default: pretty on a terminal, else jsonl)",
    )
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    if options.kill and not options.orphans:
        raise UsageError("--kill needs --orphans")
    if options.format is not None and not options.probe:
        raise UsageError("--format needs --probe")
    if options.probe:
        from codex_adapter.cli.doctor.probe import probe  # noqa: PLC0415 - loads a web server

        return await probe(options, output, stop)
    if options.orphans:
        found = await report_orphans(kill=options.kill)
        text = orphans_text(found, kill=options.kill)
        await output.write(msgspec.json.encode(found) + b"\n" if options.json else text)
        return 0 if found.ok else 1
    report = None
    with stop.interrupting():
        report = await _examine(options, the_agent(options))
    if report is None:
        return stop.exit_status or 1
    lacks_login = options.require_login and not report.logged_in
    if options.json:
        await output.write(msgspec.json.encode(report) + b"\n")
    else:
        await output.write(_text(report, the_agent(options), options.verbose, lacks_login=lacks_login))
    if not report.ok:
        return 1
    return _NO_LOGIN if lacks_login else 0


async def _examine(options: argparse.Namespace, agent: Agent) -> _Report:
    config = program_config(options, agent)
    report = await agent.examine(config)
    levels = await find_levels(os.environ)
    sandbox = None
    # If resources are short or the file system does not answer, no sandbox works now.
    with suppress(WorkspaceError), trio.move_on_after(PATIENCE):
        found = partial(find_sandbox, dict(os.environ), agents=(agent.places(config.binary),))
        sandbox = await trio.to_thread.run_sync(found, abandon_on_cancel=True)
    findings = [*report.findings, _containment_finding(levels), *_pidfd_findings(), *report.sandbox_findings]
    findings = printable_findings([*findings, _sandbox_finding(sandbox)], agent)
    versions = {name: installed_version(name) for name in ("codex-adapter", "trio", "msgspec")}
    return _Report(
        ok=all(finding.state != "failed" for finding in findings),
        adapter=versions["codex-adapter"],
        python=platform.python_version(),
        trio=versions["trio"],
        msgspec=versions["msgspec"],
        containment=levels[0].level if levels else "none",
        containment_levels=[found.level for found in levels],
        sandbox="none" if sandbox is None else sandbox.level,
        agent_sandbox=report.sandbox,
        binary=report.binary,
        login=report.login,
        findings=findings,
        agent=agent.kind,
        logged_in=report.logged_in,
    )


def _containment_finding(levels: list[FoundLevel]) -> Finding:
    names = [found.level for found in levels]
    if not names:
        return Finding("containment", "failed", "no agent can be started", "Check that /bin/sh can be executed.")
    found = names[0] + (f" (also {', '.join(names[1:])})" if names[1:] else "")
    if names[0] == "process_group":
        advice = (
            "If the adapter is killed, processes of its runs can survive. A Linux with a readable /proc has a stronger "
            "level."
        )
        return Finding("containment", "warning", found, advice)
    if levels[0].in_user_namespace:
        return Finding("containment", "warning", f"{found}, in a user namespace", _USER_NAMESPACE)
    return Finding("containment", "ok", found)


def _pidfd_findings() -> list[Finding]:
    why = why_no_pidfd()
    if why is None:
        return []
    advice = (
        "Runs are contained equally well. The adapter detects the exit of an agent some milliseconds later. `doctor "
        "--orphans --kill` cannot exclude that a process id is reused between its last check and the signal."
    )
    return [Finding("pidfd", "warning", f"not available, {why}", advice)]


def _sandbox_finding(sandbox: Sandbox | None) -> Finding:
    if sandbox is not None:
        return Finding("sandbox", "ok", sandbox.level)
    advice = (
        "Install bubblewrap, or allow it to create namespaces. Without it, commands of `operations` have all your "
        "rights."
    )
    return Finding("sandbox", "warning", "none works", advice)


def _text(report: _Report, agent: Agent, verbose: bool, *, lacks_login: bool) -> bytes:
    lines = [f"codex-adapter {report.adapter}, Python {report.python}, trio {report.trio}, msgspec {report.msgspec}"]
    for finding in report.findings:
        failed = lacks_login and finding.subject == "login"
        lines += finding_lines(replace(finding, state="failed") if failed else finding)
        if verbose and finding.subject == "release" and report.binary is not None:
            lines += [f"     {line}" for line in release_lines(report.binary.features, report.binary.differences)]
    if report.agent_sandbox is False and report.ok:
        lines.append(f"A run can start, but the sandbox of {agent.name} does not work.")
    elif not (lacks_login and report.ok):
        lines.append("A run can start." if report.ok else "A run cannot start.")
    if lacks_login and report.ok:
        lines.append("A run can start, but the required login is missing. Follow the advice on `login` above.")
    return "".join(f"{line}\n" for line in lines).encode()


COMMAND = Command(_parser, _perform)
