"""Draw the timeline of the page: a bar for each turn and each tool call, to scale (C10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from codex_adapter.cli.present.html import Markup, element, joined
from codex_adapter.cli.present.run_narration import call_label
from codex_adapter.cli.present.wording import OUTCOMES, amount, duration
from codex_adapter.cli.view.timeline import RunTimeline
from codex_adapter.cli.view.timeline_model import Outcome, Span

__all__ = ["Scale", "outcome_mark", "timeline_section"]

_STEPS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400)
_MOST_TICKS: Final = 6
_MANY_CALLS: Final = 12


class Scale:
    """The position of spans between the start and the end of a run: by time if known, else by order."""

    def __init__(self, run: RunTimeline) -> None:
        self._span = run.span
        self.total = run.span.seconds if run.timed else None
        """Seconds from start to end; None if the scale is the order in the stream."""

    def extent(self, span: Span) -> tuple[float, float]:
        """Return the start and the width of a span, in percent. A span without an end reaches to the end."""
        begin = self._percent(span.first, span.began)
        end = 100.0 if span.last is None else self._percent(span.last, span.ended)
        return begin, max(0.0, end - begin)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the marks on the scale: position in percent, and label."""
        total = self.total
        if total is None:
            return []
        step = next((step for step in _STEPS if total / step <= _MOST_TICKS), total / _MOST_TICKS)
        return [(100 * n * step / total, _tick(n * step)) for n in range(int(total / step) + 1)]

    def _percent(self, seq: int, time: float | None) -> float:
        if self.total is not None and self._span.began is not None:
            share = 0.0 if time is None else (time - self._span.began) / self.total
        else:
            last = self._span.first if self._span.last is None else self._span.last
            share = (seq - self._span.first) / max(1, last - self._span.first)
        return 100 * min(1.0, max(0.0, share))


def timeline_section(run: RunTimeline, number: int) -> Markup:
    """Return the section with the timeline."""
    scale = Scale(run)
    if scale.total is None:
        caption = "Times are unknown. Drawn by order, from the first record to the last."
    else:
        caption = f"Drawn to scale, {duration(scale.total)} from start to end."
    head = element(
        "tr",
        element("th", "What", scope="col"),
        element("th", _axis(scale), class_="track", scope="col"),
        element("th", "Took", class_="took", scope="col"),
        element("th", "Outcome", class_="ended", scope="col"),
    )
    table = element("table", element("thead", head), *_bodies(run, scale, number))
    return element(
        "section",
        element("h2", "Timeline", id=f"r{number}-timeline"),
        element("p", caption, class_="scale"),
        element("div", table, class_="scroll", role="region", tabindex="0", aria_labelledby=f"r{number}-timeline"),
        class_="timeline",
    )


def outcome_mark(outcome: Outcome) -> Markup:
    """Return an outcome as text in its colour."""
    return element("span", OUTCOMES[outcome], class_=f"mark {outcome}")


def _bodies(run: RunTimeline, scale: Scale, number: int) -> Iterator[Markup]:
    if len(run.calls) > _MANY_CALLS:
        bars = [_bar(scale, call.span, call.outcome) for call in run.calls]
        yield element("tbody", _row(scale, "all", amount(len(bars), "tool call"), bars))
    for place, turn in enumerate(run.turns, 1):
        name = element("a", f"Turn {place}", href=f"#r{number}-t{place}")
        bars = [_bar(scale, turn.span, turn.outcome)]
        rows = [_row(scale, "turn", name, bars, seconds=turn.span.seconds, outcome=turn.outcome)]
        for call in turn.calls:
            label = element("a", call_label(call.described), href=f"#r{number}-s{call.span.first}")
            bars = [_bar(scale, call.span, call.outcome)]
            rows.append(_row(scale, "call", label, bars, seconds=call.seconds, outcome=call.outcome))
        yield element("tbody", *rows)


def _row(
    scale: Scale,
    kind: str,
    label: str,
    bars: Iterable[Markup],
    *,
    seconds: float | None = None,
    outcome: Outcome | None = None,
) -> Markup:
    return element(
        "tr",
        element("th", label, scope="row"),
        element("td", _draw([*_grid(scale), *bars]), class_="track"),
        element("td", "" if seconds is None else duration(seconds), class_="took"),
        element("td", "" if outcome is None else outcome_mark(outcome), class_="ended"),
        class_=kind,
    )


def _bar(scale: Scale, span: Span, outcome: Outcome) -> Markup:
    begin, width = scale.extent(span)
    # A bar without a width would be invisible.
    return element("rect", x=f"{begin:.3f}%", width=f"{max(width, 0.15):.3f}%", y="4", height="10", class_=outcome)


def _grid(scale: Scale) -> Iterator[Markup]:
    for where, _ in scale.ticks():
        yield element("line", x1=f"{where:.3f}%", x2=f"{where:.3f}%", y1="0", y2="18")


def _axis(scale: Scale) -> Markup:
    words = [element("text", label, x=f"{where:.3f}%", y="13") for where, label in scale.ticks() if where < 92]
    return joined([element("span", "When", class_="unseen"), _draw(words)])


def _draw(content: Iterable[Markup]) -> Markup:
    return element("svg", *content, width="100%", height="18", aria_hidden="true")


def _tick(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g} s"
    whole = round(seconds)
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600}:{whole % 3600 // 60:02} h"
