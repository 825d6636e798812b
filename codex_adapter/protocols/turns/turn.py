"""Run one turn of a harness and emit its events, from the first to the last (U4, U8)."""

from __future__ import annotations

from pathlib import Path

import trio

from codex_adapter import AdapterError, Completion
from codex_adapter.file_systems import Inquiry, work_through
from codex_adapter.harness import Harness, HarnessTurn
from codex_adapter.protocols.turns.conversations import Conversation, Conversations
from codex_adapter.protocols.turns.emitter import Emitter
from codex_adapter.protocols.turns.messages import (
    AgentSpacesError,
    MessageEvent,
    RunResult,
    RunTurnRequest,
    RunTurnResponse,
    StateEvent,
)
from codex_adapter.protocols.turns.translation import Translation
from codex_adapter.spaces import Environment
from codex_adapter.turn_errors import TurnError

__all__ = ["Turn", "check_cwd"]


class Turn:
    """A turn with a known harness and environment. `wrong_cwd` is the error if its agent cannot work in `cwd`."""

    def __init__(
        self,
        request: RunTurnRequest,
        emitter: Emitter,
        harness: Harness,
        environment: Environment,
        wrong_cwd: TurnError | AdapterError | None = None,
    ) -> None:
        self._request = request
        self._emitter = emitter
        self._harness = harness
        self._environment = environment
        self._wrong_cwd = wrong_cwd
        self._conversations = Conversations(Path(request.asp_home))
        self._conversation: Conversation | None = None
        self._directory: Path | None = None
        self._model = request.model

    @staticmethod
    async def refuse(request: RunTurnRequest, emitter: Emitter, error: TurnError) -> RunTurnResponse:
        """Emit the end of a turn that cannot begin because its spec or its harness is wrong (U4)."""
        result = RunResult(success=False, error=error.error)
        await emitter.finish(result)
        return RunTurnResponse(harness=request.harness, result=result, model=request.model)

    async def run(self) -> RunTurnResponse:
        """Run the turn. Afterwards, remove the conversation if it got no key (U8)."""
        try:
            return await self._run()
        finally:
            if self._conversation is None and self._directory is not None:
                with trio.CancelScope(shield=True):
                    await work_through(self._conversations.abandon, self._directory)

    async def _run(self) -> RunTurnResponse:
        refusal = await self._find_conversation()
        await self._emitter.emit(StateEvent, state="running")
        await self._emitter.emit(MessageEvent, role="user", content=self._request.prompt)
        translation = Translation(self._emitter)
        try:
            if refusal is not None:
                raise refusal
            result = await self._run_harness(translation)
        except (TurnError, AdapterError, OSError) as error:
            if self._emitter.broken:
                raise
            result = RunResult(success=False, error=self._convert_error(error))
        await translation.close()
        await self._emitter.finish(result)
        return RunTurnResponse(
            harness=self._harness.id,
            result=result,
            harness_session_id=self._emitter.harness_session_id,
            model=self._model,
        )

    async def _run_harness(self, translation: Translation) -> RunResult:
        turn = await self._prepare()
        async with self._harness.open(turn) as run:
            async for batch in run.events.batches():
                for event in batch:
                    await translation.translate(event)
                    await self._remember()
            outcome: Completion | AdapterError = await run.wait_completed()
        error = self._harness.failure(outcome)
        if error is not None:
            return RunResult(success=False, error=error)
        final = translation.texts.last_message
        if final is None and isinstance(outcome, Completion):
            final = outcome.final_text
        return RunResult(success=True, final_output=final)

    def _convert_error(self, error: TurnError | AdapterError | OSError) -> AgentSpacesError | None:
        match error:
            case TurnError(error=data):
                return data
            case AdapterError():
                return self._harness.failure(error)
        return AgentSpacesError(
            message="the files of the turn under aspHome cannot be read or written. Check the disk."
        )

    async def _prepare(self) -> HarnessTurn:
        request = self._request
        self._model = await self._choose_model()
        if self._wrong_cwd is not None:
            raise self._wrong_cwd
        before = self._conversation
        if before is None:
            self._directory = await work_through(self._conversations.begin)
        else:
            self._directory = self._conversations.directory(before)
        return HarnessTurn(
            environment=self._environment,
            directory=self._directory,
            cwd=request.cwd,
            prompt=request.prompt,
            model=self._model,
            session=request.harness_session_id,
            env={**self._environment.env, **request.env},
            attachments=request.attachments,
        )

    async def _choose_model(self) -> str | None:
        """Return the model; None for the harness's own choice. Raises `TurnError` for an unknown model (U5)."""
        asked = self._environment.model if self._request.model is None else self._request.model
        before = self._conversation.model if self._conversation else None
        if asked is None and before is None:
            return None
        models = await self._harness.models()
        if models is None:
            raise TurnError(f"the harness {self._harness.id} cannot list its models now. Try again.")
        if asked is None:
            return before if before in models else None
        if asked not in models:
            raise TurnError(f"the harness {self._harness.id} does not have this model", "model_not_supported")
        return asked

    async def _find_conversation(self) -> TurnError | OSError | None:
        """Find the conversation to resume, so that each event has its key. Return the error if it cannot be resumed."""
        session = self._request.harness_session_id
        if session is None:
            return None
        try:
            found = await work_through(self._conversations.find, session)
        except OSError as error:
            return error
        if found is None or found.harness != self._harness.id:
            why = (
                "the session does not exist" if found is None else f"the session belongs to the harness {found.harness}"
            )
            return TurnError(f"{why}. Begin a new one, without harnessSessionId.", "harness_session_not_found")
        self._conversation = found
        self._emitter.harness_session_id = session
        return None

    async def _remember(self) -> None:
        """Save the conversation once its key is known, so that it can be resumed after a kill."""
        session = self._emitter.harness_session_id
        if session is None or self._directory is None:
            return
        now = Conversation(session, self._harness.id, self._directory.name, self._model)
        if now != self._conversation:
            try:
                await work_through(self._conversations.save, now)
            except OSError:
                # No event may have a key by which the conversation cannot be resumed.
                self._emitter.harness_session_id = self._request.harness_session_id
                raise
            self._conversation = now


def check_cwd(inquiry: Inquiry, cwd: str) -> TurnError | None:
    """Return why an agent cannot work in a directory; None if it can. Blocks."""
    if not cwd.startswith("/"):
        return TurnError("cwd: must be an absolute path")
    try:
        cwd.encode()  # harnesses write it to files in UTF-8
        inquiry.at("cwd", cwd)
        found = "\0" not in cwd and Path(cwd).is_dir()
    except (OSError, UnicodeEncodeError):
        found = False
    return None if found else TurnError("cwd: the directory does not exist. Create it first.")
