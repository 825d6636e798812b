"""A run on a terminal: what has happened scrolls by, what is happening stands below it (C7)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from codex_adapter import AdapterError, Completion, Event
from codex_adapter.cli.present.live_terminal import LivePaper, fit
from codex_adapter.cli.present.narration import Line, Narrator, Tone

__all__ = ["LiveView", "StyledLines"]

_STYLES: Final[dict[Tone, tuple[str, str]]] = {
    "answer": ("", ""),
    "thought": ("", "dim italic"),
    "ok": ("✓ ", "green"),
    "failed": ("✗ ", "red"),
    "output": ("  │ ", "dim"),
    "notice": ("  ", "dim"),
    "warning": ("! ", "yellow"),
    "error": ("✗ ", "bold red"),
}
"""The sign before each line and its style; tool calls that have started, and the plan, stand in the live part."""
_STATIC_STYLES: Final[dict[Tone, tuple[str, str]]] = {"started": ("… ", "cyan"), "plan": ("  ", "magenta")}
"""The same where nothing is live."""
_MARKDOWN: Final[frozenset[Tone]] = frozenset({"answer", "thought"})
"""What the agent writes as Markdown."""
_MOST_RUNNING: Final = 5


class StyledLines:
    """Lines of what is over, in colours; `fd` is the terminal, asked for nothing but its size.

    With `unbroken` the terminal itself breaks what is too long: a path that is copied from it stays in one piece.
    """

    def __init__(self, fd: int, *, unbroken: bool = False) -> None:
        self._fd = fd
        self._unbroken = unbroken

    def __call__(self, lines: Iterable[Line]) -> bytes:
        """The bytes that show the lines."""
        paper = io.StringIO()
        console = Console(file=paper, force_terminal=True, markup=False, emoji=False, highlight=False)
        fit(console, self._fd)
        for line in lines:
            shown = _shown(line, *{**_STYLES, **_STATIC_STYLES}[line.tone])
            console.print(shown, soft_wrap=self._unbroken and isinstance(shown, Text))
        return paper.getvalue().encode()


class LiveView:
    """Renders to bytes; `fd` is the terminal, asked for nothing but its size."""

    refresh_seconds: float | None = 0.25
    shows_hint = True

    def __init__(self, fd: int) -> None:
        self._narrator = Narrator()
        self._paper = LivePaper(fd, self._now)

    def events(self, batch: Sequence[Event]) -> bytes:
        """As `View.events`."""
        for event in batch:
            for line in self._narrator.tell(event):
                self._print(line)
        return self.refresh()

    def refresh(self) -> bytes:
        """The live part anew."""
        return self._paper.refresh()

    def completion(self, outcome: Completion | AdapterError) -> bytes:
        """As `View.completion`; the last state of the plan stays."""
        self._paper.stop()
        if self._narrator.plan:
            self._paper.print(self._plan())
        for line in self._narrator.end(outcome):
            self._print(line)
        return self._paper.take()

    def _print(self, line: Line) -> None:
        sign, style = _STYLES.get(line.tone, ("", None))
        if style is not None:
            self._paper.print(_shown(line, sign, style))

    def _now(self) -> RenderableType:
        running = self._narrator.running
        shown = [
            Text(f"… {label}", style="cyan", no_wrap=True, overflow="ellipsis") for label in running[-_MOST_RUNNING:]
        ]
        repeated = [
            Text(f"! {count}", style="yellow", no_wrap=True, overflow="ellipsis")
            for count in self._narrator.repeated[-_MOST_RUNNING:]
        ]
        return Group(*([self._plan()] if self._narrator.plan else []), *shown, *repeated)

    def _plan(self) -> Text:
        return Text("\n".join(f"  {step}" for step in self._narrator.plan), style="magenta")


def _shown(line: Line, sign: str, style: str) -> RenderableType:
    if line.tone not in _MARKDOWN:
        return Text(sign + line.text, style=style)
    from codex_adapter.cli.present.pretty_markdown import message  # noqa: PLC0415 - slow to load, and some runs have no message

    return message(line.text, style)
