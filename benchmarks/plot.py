"""Draw the plot as SVG: one bar for each row of a stream, in lines per CPU second."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from benchmarks.faces import CEILINGS, FACES
from benchmarks.results import StreamResult

__all__ = ["plot"]

_WIDTH: Final = 760
_BARS_AT: Final = 210
_LONGEST: Final = 430
_ROW: Final = 26
_TOP: Final = 64
_LEFT_OUT: Final = "cat"
"""The pipe alone is so much faster that no other bar could be told from the next."""

_STYLE: Final = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .title { font-weight: 600; font-size: 15px; }
    .quiet { fill: #59636e; }
    .ceiling { fill: #9aa4af; }
    .face { fill: #2f7fd1; }
    .peer { fill: #d98324; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .quiet { fill: #9198a1; }
      .ceiling { fill: #6e7681; }
      .face { fill: #58a6ff; }
      .peer { fill: #e3a04f; }
    }
"""
_LEGEND: Final = (("ceiling", "ceiling"), ("face", "codex_adapter"), ("peer", "other wrapper"))


def plot(stream: StreamResult) -> str:
    """An SVG document that can be read on a light and on a dark ground."""
    names = [name for name in stream.rounds if name != _LEFT_OUT and stream.is_whole(name)]
    speeds = {name: 1e6 / stream.per_line(name) for name in names}
    fastest = max(speeds.values(), default=1.0)
    height = _TOP + _ROW * len(names) + 12
    title = f"Lines per CPU second, {stream.name} stream"
    rows = "".join(_bar(name, speeds[name], fastest, _TOP + _ROW * row) for row, name in enumerate(names))
    legend = "".join(_entry(kind, text, _BARS_AT + 150 * index) for index, (kind, text) in enumerate(_LEGEND))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}">\n'
        f"  <title>{escape(title)}</title>\n"
        f"  <style>{_STYLE}  </style>\n"
        f'  <text class="title" x="12" y="24">{escape(title)}</text>\n{legend}{rows}</svg>\n'
    )


def _bar(name: str, speed: float, fastest: float, top: int) -> str:
    kind = "ceiling" if name in CEILINGS else "face" if name in FACES else "peer"
    length = max(1.0, speed / fastest * _LONGEST)
    baseline = top + 15
    return (
        f'  <text x="{_BARS_AT - 10}" y="{baseline}" text-anchor="end">{escape(name)}</text>\n'
        f'  <rect class="{kind}" x="{_BARS_AT}" y="{top + 2}" width="{length:.1f}" height="{_ROW - 8}" rx="2"/>\n'
        f'  <text class="quiet" x="{_BARS_AT + length + 8:.1f}" y="{baseline}">{_thousands(speed)}</text>\n'
    )


def _entry(kind: str, text: str, left: int) -> str:
    return (
        f'  <rect class="{kind}" x="{left}" y="38" width="12" height="12" rx="2"/>\n'
        f'  <text class="quiet" x="{left + 18}" y="49">{escape(text)}</text>\n'
    )


def _thousands(speed: float) -> str:
    return f"{round(speed, -3):,.0f}" if speed >= 10_000 else f"{round(speed, -1):,.0f}"
