"""Define an agent of another distribution in one folder: a shell script and its connection to the runtime (AG1).

It differs from the Codex CLI wherever the interface allows it: its own line format, a question that is answered on
standard input, another stop signal, and exit status 0 after a failure.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
import trio
from typing_extensions import override

from codex_adapter import AdapterError, Completion, RunHandle, open_run
from codex_adapter.agent import (
    Agent,
    CheckedRun,
    Decoded,
    Decoder,
    FileSystem,
    Hint,
    Launch,
    Line,
    Masker,
    OversizeLine,
    Purpose,
    check_request,
    check_run_config,
    content_of,
    effective_timeout,
    error_event,
    parse_error_text,
    refuse,
    secret_values,
    status_event,
)
from codex_adapter.errors import SpawnError, UnsupportedCapabilityError
from codex_adapter.events import (
    TURN_FAILED,
    Event,
    ExitStatus,
    Session,
    SessionHandle,
    TextPart,
    TokenUsage,
    Tool,
    ToolBytes,
    ToolCall,
    ToolStatus,
)
from codex_adapter.options import Option
from codex_adapter.request import RunConfig, RunRequest
from codex_adapter.turn_errors import AgentSpacesError

if TYPE_CHECKING:
    from codex_adapter.harness import Harness, HarnessTurn
    from codex_adapter.spaces import Environment

__all__ = ["AGENT", "ToyAgent", "ToyDecoder"]

KIND = "toy"
ALLOW = "backend.toy.allow"
SCRIPT = Path(__file__).with_name("toy")


class _Line(msgspec.Struct):
    session: str | None = None
    begin: int | None = None
    obeys: bool = False
    say: str | None = None
    ask: str | None = None
    run: str | None = None
    ran: str | None = None
    id: str = ""
    status: int = 0
    bytes: int = 0
    used: int | None = None
    end: str | None = None


class ToyDecoder(Decoder):
    """Decode the lines of the toy; `allow` is the answer to all of its questions."""

    def __init__(self, masker: Masker, *, allow: bool = False) -> None:
        super().__init__(KIND)
        self._masker = masker
        self._allow = allow
        self._answers = b""
        self._ended = False
        self._obeys = False
        self._said = 0
        self._no_money = False
        self._stderr = b""
        self._used = 0

    @override
    def decode(self, lines: Sequence[Line]) -> Decoded:
        events: list[Event] = []
        for line in lines:
            if isinstance(line, OversizeLine):
                reason, length = f"line longer than {line.limit} bytes", line.length
            elif not (content := content_of(line)):
                continue
            else:
                try:
                    self._add(msgspec.json.decode(content, type=_Line), events)
                    self.state.lines_received(1)
                    continue
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    reason, length = "not a line of the toy", len(content)
            self.state.lines_received(1)
            self.state.line_stalled()
            events.append(error_event(KIND, parse_error_text(KIND, reason, length)))
        return Decoded(events)

    @override
    def data_to_send(self) -> bytes:
        answers, self._answers = self._answers, b""
        return answers

    @property
    @override
    def input_open(self) -> bool:
        return not self._ended

    @override
    def interrupt(self) -> bytes:
        return b'{"end":"please"}\n' if self._obeys else b""

    @override
    def receive_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-1000:]
        self._no_money |= b"toy: no money left" in self._stderr

    @override
    def exit_failed(self, status: ExitStatus) -> bool:
        return self.state.turn != "completed"

    @override
    def tokens_so_far(self) -> dict[str, int]:
        return {"tokens": self._used}

    @override
    def explain(self, status: ExitStatus, *, lingered: bool) -> Hint | None:
        return "quota_exceeded" if self._no_money else None

    def _add(self, line: _Line, events: list[Event]) -> None:
        if line.session is not None:
            session = self._masker.mask_name(line.session)
            self.state.session_started(session)
            events.append(status_event(KIND, data=SessionHandle(Session(session))))
        self._obeys |= line.obeys
        if line.begin is not None:
            self.state.turn_started()
            events.append(status_event(KIND))
        if line.say is not None:
            self._said += 1
            self.state.message_completed(line.say)
            part = TextPart(f"say-{self._said}", "agent_message", "complete")
            events.append(Event(0, KIND, "text_output", "assistant", line.say, None, part))
        if line.ask is not None:
            self._answers += msgspec.json.encode({"id": line.id, "allow": self._allow}) + b"\n"
            events.append(status_event(KIND, "asked for permission"))
        if line.run is not None:
            tool = Tool(line.id, None, None, "command_execution", "start", "running", None, ToolBytes(), line.run)
            self.state.tool_opened(line.id, tool)
            events.append(Event(0, KIND, "tool_call", "tool", None, None, ToolCall(tool)))
        if line.ran is not None:
            self.state.tool_closed(line.ran)
            status: ToolStatus = "failed" if line.status else "completed"
            size = ToolBytes(stdout=line.bytes)
            tool = Tool(line.ran, None, None, "command_execution", "complete", status, line.status, size, None)
            events.append(Event(0, KIND, "tool_result", "tool", None, None, ToolCall(tool)))
        if line.end is not None:
            self._end(line, events)
        elif line.used is not None:
            self._used = line.used

    def _end(self, line: _Line, events: list[Event]) -> None:
        self._ended = True
        events += self.state.close_tools()
        if line.end != "good":
            self.state.turn_failed()
            events.append(status_event(KIND, TURN_FAILED))
            return
        usage = None if line.used is None else {"tokens": line.used}
        self.state.turn_completed(usage, usage)
        events.append(status_event(KIND, data=None if usage is None else TokenUsage(usage)))


class ToyAgent(Agent):
    """The toy."""

    kind: ClassVar[str] = KIND
    harness_id: ClassVar[str | None] = KIND
    name: ClassVar[str] = "the toy"
    capabilities: ClassVar[frozenset[str]] = frozenset({"agent_api.run", ALLOW})
    advice: ClassVar[Mapping[Hint, str]] = {"quota_exceeded": "Insert a coin.", "time_limit": "Wind it up again."}

    @property
    @override
    def options(self) -> Sequence[Option]:
        return (
            Option(field="model", names=("--model",), metavar="ID", help="the model to use", group="run"),
            Option(field="binary", names=("--toy",), metavar="BINARY", help="the toy", group="run", place="program"),
            Option(key=ALLOW, schema={"type": "boolean"}, names=("--allow",), help="allow what it asks for", flag=True),
        )

    @override
    def check_config(self, config: RunConfig, purpose: Purpose = "run") -> None:
        check_run_config(config)

    @override
    async def check(self, request: RunRequest, config: RunConfig) -> CheckedRun:
        checked, _ = _check(request, config)
        return checked

    @override
    @asynccontextmanager
    async def prepare(
        self, request: RunRequest, config: RunConfig, *, mark: str, ask_release: bool
    ) -> AsyncIterator[Launch]:
        checked, allow = _check(request, config)
        yield Launch(
            argv=(str(_program(config)),),
            env={**os.environ, **config.env, **request.env},
            cwd=checked.cwd,
            decoder=partial(ToyDecoder, allow=allow),
            stop_signals=((signal.SIGUSR1,),),
            stdin=request.prompt.replace("\n", " ").encode() + b"\n",
            timeout=effective_timeout(request, config),
            secrets=checked.secrets,
            model=config.model,
            release="1.0" if ask_release else None,
        )

    @override
    def decoder(self, masker: Masker, *, full_payloads: bool = False) -> ToyDecoder:
        return ToyDecoder(masker)

    @override
    def find_program(self, config: RunConfig, environ: Mapping[str, str]) -> str:
        return str(_program(config))

    @override
    def harness(self, config: RunConfig | None = None) -> Harness:
        return ToyHarness(config or RunConfig())


class ToyHarness:
    """The toy for turns: it has one model, and writes nowhere."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config

    @property
    def id(self) -> str:
        return KIND

    async def check(self) -> None:
        await trio.lowlevel.checkpoint()

    async def models(self) -> tuple[str, ...] | None:
        await trio.lowlevel.checkpoint()
        return ("toy/one",)

    def writable(self, environment: Environment, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        return ()

    def open(self, turn: HarnessTurn) -> AbstractAsyncContextManager[RunHandle]:
        env = {**turn.environment.env, **turn.env}
        request = RunRequest(prompt=turn.prompt, working_dir=turn.cwd, env=env, extensions={ALLOW: True})
        return open_run(request, agent=KIND, config=self._config)

    def failure(self, outcome: Completion | AdapterError) -> AgentSpacesError | None:
        if isinstance(outcome, Completion):
            return None if outcome.ok else AgentSpacesError(message="the toy failed")
        return AgentSpacesError(message=str(outcome))


class _Files:
    @property
    def cwd(self) -> str:
        return str(Path.cwd())

    def is_dir(self, path: str) -> bool:
        return Path(path).is_dir()

    def is_file(self, path: str) -> bool:
        return Path(path).is_file()


def _check(request: RunRequest, config: RunConfig) -> tuple[CheckedRun, bool]:
    allow = check_request(request, config, _Files(), _read_extensions, check_run_config)
    _program(config)
    cwd = str(Path(request.working_dir or config.default_working_dir or ".").resolve())
    secrets = secret_values({**os.environ, **config.env, **request.env}, config.mask, directory=cwd)
    return CheckedRun(cwd, config.model, tuple(secrets.values)), allow


def _read_extensions(extensions: dict[str, object], _files: FileSystem) -> bool:
    for key in sorted(extensions):
        if key != ALLOW:
            raise UnsupportedCapabilityError(KIND, key)
    allow = extensions.get(ALLOW, False)
    if not isinstance(allow, bool):
        refuse(ALLOW, "true or false")
    return allow


def _program(config: RunConfig) -> Path:
    program = SCRIPT if config.binary is None else Path(config.binary)
    if not program.is_file():
        raise SpawnError(not_found=True, hint="cli_not_found")
    return program.absolute()


AGENT = ToyAgent()
