"""Build the first line of a journal: the request of a run, bounded and masked (J19)."""

from __future__ import annotations

from typing import Final

from codex_adapter import RunRequest, RunSetup
from codex_adapter.records import RunRecord, encode_lines

__all__ = ["run_record"]

_LONGEST_NAME: Final = 4096
"""The limit of a directory or a label in bytes."""
_LONGEST_PROMPT: Final = 16_384


def run_record(
    run_id: str,
    agent_kind: str,
    request: RunRequest,
    *,
    setup: RunSetup | None = None,
    containment: str | None = None,
    prompt: bool = False,
) -> bytes:
    """Return the line of a run, with its newline.

    Without `setup`, the request is unchecked or the secrets of its run are unknown, and the line has only the id.
    (J19, X5)
    """
    if setup is None:
        return encode_lines([RunRecord(run_id=run_id)])
    mask = setup.mask
    record = RunRecord(
        run_id=run_id,
        agent_kind=agent_kind,
        working_dir=mask(setup.working_dir, _LONGEST_NAME),
        model=None if setup.model is None else mask(setup.model, _LONGEST_NAME),
        release=setup.release,
        containment=containment,
        labels={mask(name, _LONGEST_NAME): mask(value, _LONGEST_NAME) for name, value in request.labels.items()},
        prompt=mask(request.prompt, _LONGEST_PROMPT) if prompt else None,
    )
    return encode_lines([record])
