"""Decode the output of the Codex CLI without an event loop (P4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from codex_adapter.agents.codex.advice import ADVICE
from codex_adapter.agents.codex.stream.decoder import CodexDecoder
from codex_adapter.core.pipeline import Pipeline

__all__ = ["codex_pipeline"]


def codex_pipeline(
    *,
    full_payloads: bool = False,
    secrets: tuple[str, ...] = (),
    max_line_bytes: int = 16 * 1024 * 1024,
    usage_before: Mapping[str, int] | None = None,
) -> Pipeline:
    """Return the pipeline of one run of the Codex CLI.

    `full_payloads` adds the input and the output of tool calls. `secrets` are values to mask. `max_line_bytes` is the
    limit of a line. `usage_before` has the tokens of the session before the run, or None. (M7, X5, L2, F10)
    """
    decoder = partial(CodexDecoder, full_payloads=full_payloads, usage_before=usage_before)
    return Pipeline(decoder, secrets=secrets, max_line_bytes=max_line_bytes, advice=ADVICE)
