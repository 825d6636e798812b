"""Format times, numbers and outcomes of past runs for a person (C10)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from codex_adapter.cli.view.timeline_model import Outcome
from codex_adapter.errors import BackendError
from codex_adapter.events import AgentInfo, Completion, RateLimit, Retry
from codex_adapter.hints import ADVICE
from codex_adapter.records import CompletedRecord, FailedRecord

__all__ = [
    "OUTCOMES",
    "Used",
    "Verdict",
    "amount",
    "cost",
    "count_tokens",
    "date_of",
    "describe_agent",
    "describe_limit",
    "describe_retry",
    "duration",
    "offset",
    "size",
    "tokens",
    "used_by",
    "verdict",
]

OUTCOMES: Final[Mapping[Outcome, str]] = {
    "completed": "completed",
    "failed": "failed",
    "cut_off": "cut off",
    "unanswered": "no result",
    "open": "not ended",
}
"""The outcome of a turn or of a tool call in words."""

_TOKENS: Final = {
    "input": ("input_tokens", "input"),
    "output": ("output_tokens", "output"),
    "cached": ("cached_input_tokens", "cache_read_input_tokens", "cacheRead"),
}
"""The names that agents give to the same count of tokens."""

_YEAR_9999: Final = 253_370_764_800


class Verdict(NamedTuple):
    """The end of a run: its outcome, a headline, and sentences with details."""

    outcome: Outcome
    headline: str
    sentences: list[str]


def verdict(ending: CompletedRecord | FailedRecord | None) -> Verdict:
    """Return the verdict of a completion record; None means that it is missing (W2, F9)."""
    if ending is None:
        return Verdict("open", "No completion", ["The run is still active, or its writer was killed."])
    if isinstance(ending, FailedRecord):
        error = ending.error
        advice_text = error.advice or (None if error.hint is None else ADVICE[error.hint])
        return Verdict("failed", "Failed", [error.message, *([] if advice_text is None else [_sentence(advice_text)])])
    completion = ending.completion
    advice = [] if completion.advice is None else [_sentence(completion.advice)]
    outcome, headline = _headline_of(completion)
    return Verdict(outcome, headline, advice)


def _headline_of(completion: Completion) -> tuple[Outcome, str]:
    status = completion.status
    if status.signal is not None:
        return "failed", f"Killed by {status.signal}"
    if not status.success:
        return "failed", f"Exited with status {status.code}"
    if completion.turn == "failed":
        return "failed", "The turn failed"
    if completion.turn == "cut_off":
        return "cut_off", "Cut off in mid-turn"
    if completion.turn is None:
        return "failed", "No turn began"
    return ("completed", "Completed") if completion.ok else ("failed", "Completed without success")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def duration(seconds: float) -> str:
    """Format a duration, such as `0.4 s`, `12.3 s`, `3 min 04 s`, `2 h 05 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s" if seconds >= 0.05 else "< 0.1 s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def offset(seconds: float, total: float) -> str:
    """Format a time since the start of a run of `total` seconds, such as `4.2 s`, `3:04` or `1:03:04`."""
    if total < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    hours = f"{whole // 3600}:{whole % 3600 // 60:02}" if total >= 3600 else f"{whole // 60}"
    return f"{hours}:{whole % 60:02}"


def date_of(time: float) -> str:
    """Format a time, such as `2026-11-22 07:07:02 UTC`."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def amount(number: int, one: str, many: str | None = None) -> str:
    """Format a number with its noun, such as `1 turn`, `12,000 turns`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(count: int) -> str:
    """Format a number of bytes, such as `812 bytes`, `4.2 kB`, `1.3 MB`."""
    if count < 1000:
        return amount(count, "byte")
    return f"{count / 1000:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"


def tokens(usage: Mapping[str, int]) -> str:
    """Format the most important counts of tokens, such as `12,300 in, 450 out`."""
    return f"{count_tokens(usage, 'input'):,} in, {count_tokens(usage, 'output'):,} out"


def count_tokens(usage: Mapping[str, int], what: Literal["input", "output", "cached"]) -> int:
    """Return one count of tokens, which each agent reports by its own name; 0 if it does not report it."""
    return next((usage[name] for name in _TOKENS[what] if name in usage), 0)


class Used(NamedTuple):
    """What a run has used: its counts of tokens, its cost in US dollars, and `at least ` if it may have used more."""

    tokens: Mapping[str, int] | None
    cost_usd: float | None
    bound: str


def used_by(outcome: Completion | BackendError | FailedRecord) -> Used:
    """Return what a run with this outcome has used, as far as it is known (F15)."""
    counted = outcome.run_usage
    if not isinstance(outcome, Completion):
        return Used(counted, outcome.cost_usd, "at least ")
    return Used(counted or outcome.usage, outcome.cost_usd, "" if outcome.turn == "completed" else "at least ")


def cost(usd: float) -> str:
    """Format an amount of US dollars, such as `$0.0315`, `$12.40`."""
    return f"${usd:,.2f}" if usd >= 1 or not usd else f"${usd:,.4f}" if usd >= 0.0001 else "< $0.0001"


def describe_retry(retry: Retry) -> str:
    """Describe a retry, such as `model request failed (HTTP 529): retry 1 of 9 in 0.6 s`."""
    status = "" if retry.http_status is None else f" (HTTP {retry.http_status})"
    number = "" if retry.number is None else f" {retry.number}"
    most = "" if not number or retry.max_retries is None else f" of {retry.max_retries}"
    when = "" if retry.delay is None else f" in {duration(retry.delay)}"
    return f"model request failed{status}: retry{number}{most}{when}"


def describe_limit(limit: RateLimit) -> str | None:
    """Describe a limit, such as `limit five_hour: 93% used, resets at 2026-11-23 15:00 UTC`; None if it is far away."""
    if limit.status in ("allowed", "unknown"):
        return None
    facts = ["reached"] if limit.status == "rejected" else ["nearly reached"] if limit.utilization is None else []
    if limit.utilization is not None:
        facts.append(f"{limit.utilization:.0%} used")
    if limit.resets_at is not None and 0 <= limit.resets_at < _YEAR_9999:
        facts.append(f"resets at {datetime.fromtimestamp(limit.resets_at, UTC):%Y-%m-%d %H:%M} UTC")
    return f"limit{'' if limit.window is None else ' ' + limit.window}: {', '.join(facts)}"


def describe_agent(info: AgentInfo) -> str:
    """Describe an agent, such as `release 2.1.330, model claude-opus-5-5`."""
    facts = [("release", info.release), ("model", info.model)]
    return ", ".join(f"{name} {value}" for name, value in facts if value)
