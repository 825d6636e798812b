"""Judge the results of probes, with a verdict for each promise (C8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codex_adapter import BackendError, Event
from codex_adapter.findings import Verdict
from codex_adapter.probes.probe import Evidence, NotProbed, Probe, Promise
from codex_adapter.runtime.programs import Version

__all__ = ["judge", "judge_all"]

NO_TIME = "did not end in time"
NO_REQUEST = "the model server received no request"
NOT_BEGUN = "not performed, because other runs did not end in time"


def judge(probe: Probe, evidence: Evidence | None, release: Version | None) -> Iterator[Verdict]:
    """Yield the verdicts on a probe's promises. `evidence` is None if the probe was not performed. (C8)"""
    refusal = _refusal(evidence)
    for promise in probe.promises:
        reason = refusal or promise.excuse(release)
        if reason is not None:
            yield Verdict(probe.name, promise.rule, promise.text, "not_probed", reason)
        else:
            trouble = _trouble(probe, promise, evidence)
            if isinstance(trouble, NotProbed):
                yield Verdict(probe.name, promise.rule, promise.text, "not_probed", str(trouble))
            else:
                yield Verdict(probe.name, promise.rule, promise.text, "broken" if trouble else "holds", trouble)


def judge_all(evidence: Sequence[Evidence]) -> Iterator[Verdict]:
    """Yield the verdicts on the promises of every probe (C8)."""
    unknown = sorted({name for one in evidence for name in one.unknown()})
    text = "every line is of a known kind"
    yield _everywhere("T4", text, f"unknown kinds: {', '.join(unknown)}" if unknown else None)
    unread = sum(_is_unread(event) for one in evidence for event in one.events())
    yield _everywhere("T1", "every line can be read", f"lines that cannot be read: {unread}" if unread else None)


def _is_unread(event: Event) -> bool:
    texts = tuple(f"{event.agent_kind} stream {name} error" for name in ("parse", "normalize"))
    return event.data is None and (event.message or "").startswith(texts)


def _everywhere(rule: str, text: str, trouble: str | None) -> Verdict:
    return Verdict("all", rule, text, "broken" if trouble else "holds", trouble)


def _refusal(evidence: Evidence | None) -> str | None:
    """Return why the adapter refused a run of this release, or None (S8)."""
    for run in evidence.runs if evidence is not None else ():
        if isinstance(run.outcome, BackendError) and run.outcome.failure == "invalid_request":
            return run.outcome.advice or "this release does not support it"
    return None


def _trouble(probe: Probe, promise: Promise, evidence: Evidence | None) -> str | None:
    if evidence is None:
        return NOT_BEGUN
    if any(run.timed_out for run in evidence.runs):
        asked = any(run.asked for run in evidence.runs)
        return f"{NO_TIME}; {'' if asked else f'{NO_REQUEST}; '}{evidence.last.describe()}"
    if len(evidence.runs) < len(probe.starts):
        return f"no session exists to continue; {evidence.last.describe()}"
    return promise.check(evidence)
