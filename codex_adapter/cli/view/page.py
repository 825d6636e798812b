"""Build a self-contained HTML page of runs: no script, no network, no second file (C10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from codex_adapter.cli.present.html import Content, Markup, element
from codex_adapter.cli.present.wording import (
    Used,
    amount,
    cost,
    count_tokens,
    date_of,
    duration,
    tokens,
    used_by,
    verdict,
)
from codex_adapter.cli.view.page_document import document
from codex_adapter.cli.view.page_entries import MessageMarkup, entries_section, troubles_section
from codex_adapter.cli.view.page_timeline import timeline_section
from codex_adapter.cli.view.timeline import RunTimeline
from codex_adapter.events import Completion
from codex_adapter.records import CompletedRecord, FailedRecord, RunRecord

__all__ = ["page"]

_COUNTS: Final = {
    "input_tokens": "Input",
    "cached_input_tokens": "Cached input",
    "cache_read_input_tokens": "Cached input",
    "cache_write_input_tokens": "Cache writes",
    "cache_creation_input_tokens": "Cache writes",
    "output_tokens": "Output",
    "reasoning_output_tokens": "Reasoning",
}
"""The counts of tokens and their names on the page; other counts keep the agent's name."""
_STATES: Final = {"completed": "done", "in_progress": "in progress", "pending": "to do"}


def page(runs: Sequence[RunTimeline], remarks: Sequence[str] = ()) -> bytes:
    """Return the page as a file; `remarks` are sentences about what could not be read."""
    markdown = _message_markup()
    articles = [_article(run, number, len(runs), markdown) for number, run in enumerate(runs, 1)]
    title = verdict(runs[0].ending).headline if len(runs) == 1 else amount(len(runs), "run")
    return document(title, articles, remarks)


def _message_markup() -> MessageMarkup:
    """Return a conversion of messages to markup, which does nothing if its packages are not installed."""
    try:
        from codex_adapter.cli.view.page_markdown import MarkdownPage  # noqa: PLC0415 - its parser is optional
    except ImportError:
        return lambda _: None
    return MarkdownPage()


def _article(run: RunTimeline, number: int, of: int, markdown: MessageMarkup) -> Markup:
    ending = verdict(run.ending)
    when = [] if run.span.began is None else [date_of(run.span.began)]
    which = [f"Run {number} of {of}"] if of > 1 else ["Run"]
    header = element(
        "header",
        element("p", " · ".join([*which, *when]), class_="eyebrow"),
        element("h1", ending.headline, id=f"r{number}", class_=ending.outcome),
        *(element("p", sentence, class_="lead", dir="auto") for sentence in ending.sentences),
        element("dl", *_facts(run)),
        *_request_list(run.asked),
    )
    sections = (timeline_section(run, number) if run.turns else Markup(), _plan(run), troubles_section(run, number))
    entries = entries_section(run, number, markdown)
    return element("article", header, *sections, entries, _tokens(run, number), aria_labelledby=f"r{number}")


def _facts(run: RunTimeline) -> Iterator[Markup]:
    if run.timed and run.span.seconds is not None:
        yield _fact("Duration", duration(run.span.seconds))
    used = _used(run)
    if used.tokens:
        cached = count_tokens(used.tokens, "cached")
        yield _fact("Tokens", used.bound + tokens(used.tokens), f"{cached:,} of them cached" if cached else None)
    if used.cost_usd is not None:
        yield _fact("Cost", used.bound + cost(used.cost_usd), "as the agent CLI reports it")
    calls = run.calls
    if calls:
        failed = sum(call.outcome == "failed" for call in calls)
        yield _fact("Tool calls", f"{len(calls):,}", f"{failed:,} failed" if failed else None)
    if len(run.turns) > 1:
        yield _fact("Turns", f"{len(run.turns):,}")
    if run.session_id is not None:
        yield _fact("Session", element("code", run.session_id))


def _request_list(asked: RunRecord | None) -> Iterator[Markup]:
    """Yield the list with the request of a run, if the file has it (J19)."""
    if asked is None:
        return
    facts = {
        "Run": asked.run_id,
        "Directory": asked.working_dir,
        "Model": asked.model,
        "CLI": asked.release,
        "Containment": asked.containment,
    }
    shown = [_fact(name, element("code", value, dir="ltr")) for name, value in facts.items() if value]
    if asked.labels:
        labels = [element("li", element("code", f"{name}={asked.labels[name]}")) for name in sorted(asked.labels)]
        shown.append(_fact("Labels", element("ul", *labels, role="list")))
    if asked.prompt:
        prompt = element(
            "code", asked.prompt, class_="block", tabindex="0", role="region", aria_label="Prompt", dir="auto"
        )
        shown.append(element("div", element("dt", "Prompt"), element("dd", prompt), class_="prompt"))
    yield element("dl", *shown, class_="asked")


def _fact(name: str, value: Content, more: str | None = None) -> Markup:
    small = "" if more is None else element("span", more, class_="more")
    return element("div", element("dt", name), element("dd", value, small))


def _used(run: RunTimeline) -> Used:
    if run.ending is None:
        return Used(next((turn.usage for turn in reversed(run.turns) if turn.usage), None), None, "at least ")
    return used_by(_outcome(run.ending))


def _outcome(ending: CompletedRecord | FailedRecord) -> Completion | FailedRecord:
    return ending.completion if isinstance(ending, CompletedRecord) else ending


def _plan(run: RunTimeline) -> Markup:
    if not run.plan:
        return Markup()
    done = sum(step.completed for step in run.plan)
    share = f"{100 * done / len(run.plan):.1f}%"
    bar = element(
        "svg",
        element("rect", width="100%", height="6", class_="rest"),
        element("rect", width=share, height="6", class_="completed"),
        width="100%",
        height="6",
        aria_hidden="true",
    )
    steps = [
        element(
            "li",
            element("span", _STATES[step.status or ("completed" if step.completed else "pending")], class_="unseen"),
            element("span", step.text, dir="auto"),
            class_="done" if step.completed else "todo",
        )
        for step in run.plan
    ]
    progress = element("p", f"{done} of {amount(len(steps), 'step')} done", class_="scale")
    return element("section", element("h2", "Plan"), progress, bar, element("ol", *steps, role="list"), class_="plan")


def _tokens(run: RunTimeline, number: int) -> Markup:
    rows = [(f"Turn {place}", turn.usage) for place, turn in enumerate(run.turns, 1) if turn.usage]
    own = None if run.ending is None else _outcome(run.ending).run_usage
    if own:
        rows.append(("This run alone", own))
    if not rows:
        return Markup()
    names = list(dict.fromkeys([*_COUNTS, *(name for _, usage in rows for name in usage)]))
    names = [name for name in names if any(name in usage for _, usage in rows)]
    head = element("tr", element("th", "As of", scope="col"), *(_column(name) for name in names))
    body = [
        element(
            "tr",
            element("th", label, scope="row"),
            *(element("td", f"{usage[name]:,}" if name in usage else "–") for name in names),
        )
        for label, usage in rows
    ]
    note = "Counted by the agent CLI. An agent can count the whole session, up to the end of the turn."
    table = element("table", element("thead", head), element("tbody", *body))
    title = f"r{number}-tokens"
    return element(
        "section",
        element("h2", "Tokens", id=title),
        element("p", note, class_="scale"),
        element("div", table, class_="wide", role="region", tabindex="0", aria_labelledby=title),
        class_="tokens",
    )


def _column(name: str) -> Markup:
    return element("th", _COUNTS.get(name, name), scope="col")
