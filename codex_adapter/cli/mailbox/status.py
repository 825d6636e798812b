"""Show the state of the sessions of a mailbox, for `mailbox status` and `mailbox end` (C12)."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from codex_adapter.cli.output import Output
from codex_adapter.cli.present.lines import Line
from codex_adapter.cli.present.mailbox_narration import state_lines
from codex_adapter.cli.present.views import is_for_a_program, line_printer
from codex_adapter.protocols.mailbox.inbox import waiting_names
from codex_adapter.protocols.mailbox.layout import MailboxLayout
from codex_adapter.protocols.mailbox.messages import SessionState
from codex_adapter.records import encode_lines

__all__ = ["show_sessions"]


class _Status(SessionState, frozen=True, kw_only=True, rename="camel"):
    """A session, and the names of the files that wait in the inbox for it."""

    waiting: tuple[str, ...]


async def show_sessions(
    places: MailboxLayout, states: Sequence[SessionState], form: str | None, output: Output
) -> None:
    """Show sessions, each with the files that wait for it. Raise `MailboxError`."""
    names = () if all(state.is_complete for state in states) else waiting_names(places.inbox)
    waiting = tuple(os.fsencode(name).decode(errors="replace") for name in names)
    found = [(state, () if state.is_complete else waiting) for state in states]
    if is_for_a_program(form, output):
        lines = [_Status(**msgspec.structs.asdict(state), waiting=files) for state, files in found]
        await output.write(encode_lines(lines))
        return
    shown = [line for state, files in found for line in state_lines(places, state, files)]
    await output.write(line_printer(output)(shown or [Line("notice", "no session exists")]))
