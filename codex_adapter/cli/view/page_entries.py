"""Build the section of the page with all texts and tool calls in order, with inputs and outputs (C10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from codex_adapter.cli.present.html import Content, Markup, element, joined
from codex_adapter.cli.present.run_narration import call_label
from codex_adapter.cli.present.wording import amount, duration, offset, size, tokens
from codex_adapter.cli.view.page_timeline import outcome_mark
from codex_adapter.cli.view.timeline import RunTimeline
from codex_adapter.cli.view.timeline_model import Call, Entry, Gap, Note, Text, Turn, place_of
from codex_adapter.events import PayloadText, ToolBytes, ToolInput, ToolOutput

__all__ = ["MessageMarkup", "entries_section", "troubles_section"]

MessageMarkup: TypeAlias = Callable[[str], Markup | None]
"""Converts a message of the agent to markup; None for a message that must be shown as plain text."""

_LEVELS: Final = {"error": "Error", "warning": "Warning", "notice": "Note"}
_FIELDS: Final = {
    "command": "Command",
    "changes": "Changes",
    "server": "Server",
    "tool": "Tool",
    "arguments": "Arguments",
    "query": "Query",
    "aggregated_output": "Output",
    "result": "Result",
    "error": "Error",
}
"""The name of each field of a payload on the page, in the order of its structs."""
_JSON_FIELDS: Final = frozenset({"changes", "arguments", "result"})
_LABELS: Final = frozenset({"command", "changes", "query", "server", "tool"})
"""The fields that the label of a tool call shows, unless it is cut."""
_BEGINNING: Final = 120
_MOST_OPENED: Final = 6
"""The limit of failed tool calls that are shown open. If more failed, all are closed, so that the page stays short."""


def entries_section(run: RunTimeline, number: int, markdown: MessageMarkup) -> Markup:
    """Return the section with all turns, and with the entries outside turns."""
    story = _Entries(run, number, markdown)
    pieces: list[tuple[int, int, Turn | Entry]] = [(place_of(entry), 0, entry) for entry in run.before]
    pieces += [(turn.span.first, place, turn) for place, turn in enumerate(run.turns, 1)]
    blocks: list[Markup] = []
    loose: list[Entry] = []
    for _, place, piece in sorted(pieces, key=lambda piece: piece[:2]):
        if not isinstance(piece, Turn):
            loose.append(piece)
            continue
        blocks += story.entries(loose)
        loose = []
        blocks.append(story.turn(piece, place))
    return element("section", element("h2", "What happened"), *blocks, *story.entries(loose), class_="story")


def troubles_section(run: RunTimeline, number: int) -> Markup:
    """Return the section with errors and warnings, each with a link to its place; nothing if none exists."""
    troubles = [entry for entry in run.entries if isinstance(entry, Note) and entry.level != "notice"]
    if not troubles:
        return Markup()
    items = [
        element(
            "li",
            element("a", _LEVELS[note.level], href=f"#r{number}-s{note.seq}"),
            " ",
            _words(note),
            class_=f"note {note.level}",
        )
        for note in troubles
    ]
    return element("section", element("h2", "Errors and warnings"), _make_list(items), class_="troubles")


class _Entries:
    def __init__(self, run: RunTimeline, number: int, markdown: MessageMarkup) -> None:
        self._run = run
        self._number = number
        self._markdown = markdown
        self._open_failed = sum(call.outcome == "failed" for call in run.calls) <= _MOST_OPENED

    def turn(self, turn: Turn, place: int) -> Markup:
        facts = [duration(turn.span.seconds)] if turn.span.seconds is not None else []
        facts += [f"tokens {tokens(turn.usage)}"] if turn.usage else []
        heading = element("h3", f"Turn {place} ", outcome_mark(turn.outcome), _facts(facts))
        return element("section", heading, *self.entries(turn.entries), id=f"r{self._number}-t{place}", class_="turn")

    def entries(self, entries: Sequence[Entry]) -> list[Markup]:
        shown = [shown for entry in entries if (shown := self._entry(entry))]
        return [_make_list(shown)] if shown else []

    def _entry(self, entry: Entry) -> Markup | None:
        match entry:
            case Call(span=span, outcome=outcome):
                shown = _call(entry, opened=self._open_failed and outcome == "failed")
                return self._item(span.first, span.began, f"call {outcome}", shown)
            case Text(content=content):
                prose = self._prose(content.text)
                thought = content.item_type == "reasoning"
                kind, shown = ("thought", _thought(content.text, prose)) if thought else ("said", prose)
                return self._item(entry.seq, entry.time, kind, shown) if content.text.strip() else None
            case Note(level=level):
                shown = joined([element("b", _LEVELS[level]), " ", _words(entry)])
                return self._item(entry.seq, entry.time, f"note {level}", shown)
            case Gap(missing=missing):
                remark = f"{amount(missing, 'record')} missing here"
                return element("li", element("p", remark, class_="what"), class_="gap")

    def _prose(self, text: str) -> Markup:
        markup = self._markdown(text)
        if markup is not None:
            return element("div", markup, class_="prose markdown", dir="auto")
        return element("div", text.strip("\n"), class_="prose", dir="auto")

    def _item(self, seq: int, time: float | None, kind: str, shown: Markup) -> Markup:
        began = self._run.span.began
        known = time is not None and began is not None and self._run.timed
        when = offset(max(0.0, time - began), self._run.span.seconds or 0) if known and time and began else f"#{seq}"
        return element(
            "li",
            element("span", when, class_="when"),
            element("div", shown, class_="what"),
            id=f"r{self._number}-s{seq}",
            class_=kind,
        )


def _make_list(items: Sequence[Markup]) -> Markup:
    return element("ol", *items, role="list")


def _words(note: Note) -> Markup:
    """Return the last text of a note, and how often it occurred."""
    words = element("span", note.last or note.text, dir="auto", class_="words")
    return words if note.times == 1 else joined([words, _facts([amount(note.times, "time")])])


def _thought(text: str, prose: Markup) -> Markup:
    beginning = text.strip().partition("\n")[0].replace("**", "")[:_BEGINNING]
    summary = element("summary", "Thought ", element("span", beginning, class_="beginning", dir="auto"))
    return element("details", summary, prose)


def _call(call: Call, *, opened: bool) -> Markup:
    tool = call.facet.tool
    facts = [] if tool.exit_code is None else [f"exit {tool.exit_code}"]
    facts += [] if call.seconds is None else [duration(call.seconds)]
    payloads = list(_payloads(call))
    facts += [] if payloads else _sizes(tool.bytes)
    line = [element("code", call_label(call.described), class_="label"), " ", outcome_mark(call.outcome), _facts(facts)]
    if not payloads:
        return element("p", *line)
    return element("details", element("summary", *line), *payloads, open="" if opened else None)


def _facts(facts: Sequence[str]) -> Markup:
    return joined([" ", element("span", " · ".join(facts), class_="facts")]) if facts else Markup()


def _sizes(sizes: ToolBytes) -> list[str]:
    put_out = sizes.stdout + sizes.stderr + sizes.result
    output = [f"{size(put_out)} of output"] if put_out else []
    return [*output, *([f"{size(sizes.diff)} of diff"] if sizes.diff else [])]


def _payloads(call: Call) -> Iterator[Markup]:
    whole = not call_label(call.described).endswith("…")
    for facet in (call.described.input, call.facet.output):
        for name, payload in _fields(facet):
            if whole and name in _LABELS and not payload.truncated:
                continue
            yield element("p", _FIELDS[name], _cut(payload), class_="field")
            content = _indent_json(payload.text) if name in _JSON_FIELDS else payload.text
            yield _block(content, f"{_FIELDS[name]} of the tool call")


def _fields(facet: ToolInput | ToolOutput | None) -> Iterator[tuple[str, PayloadText]]:
    if facet is not None:
        for name in facet.__struct_fields__:
            if (payload := getattr(facet, name)) is not None and payload.text:
                yield name, payload


def _cut(payload: PayloadText) -> Content:
    return joined([" ", element("span", "(truncated)", class_="facts")]) if payload.truncated else ""


def _block(content: str, label: str) -> Markup:
    return element("code", content, class_="block", tabindex="0", role="region", aria_label=label, dir="ltr")


def _indent_json(text: str) -> str:
    """Return JSON with indentation; anything else unchanged."""
    try:
        return msgspec.json.format(text.encode(), indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text
