"""Write the page of hints from the closed list of causes."""

from __future__ import annotations

from codex_adapter.agents import agent_of, kinds
from codex_adapter.hints import ADVICE
from docs.generate.markdown import cell, table

__all__ = ["hints_page"]

_INTRODUCTION = """\
# Hints

A run that did not succeed has a `hint` if its cause is known: one word of this list. The `advice` beside it says what
to do next. A record has both, and `run` prints the advice on standard error. Programs can rely on the words. The
sentences may change in a later version. [Find out why a run failed](../how-to/failed-run.md#hints) says what each hint
means, and which failures are worth a retry.

"""
_OF_AN_AGENT = """\
## Advice of {}

`agent_kind`: `{}`. Each other hint has the advice above.

"""


def hints_page() -> str:
    """Return the page."""
    anchors = '<a id="{0}" href="#{0}">#</a>'
    rows = ((f"`{hint}`", cell(text), anchors.format(hint)) for hint, text in ADVICE.items())
    page = _INTRODUCTION + table(("hint", "advice", "link"), rows)
    for kind in kinds():
        agent = agent_of(kind)
        if agent.advice:
            own = ((f"`{hint}`", cell(text)) for hint, text in agent.advice.items())
            page += _OF_AN_AGENT.format(agent.name, kind) + table(("hint", "advice"), own)
    return page
