"""Add up the costs of a run as the CLI reports them (F13, AG10).

Since some release after 2.1.152 the total of a result includes the session before the run. Those releases also report
what each model cost since the last result. Before, the total is that of the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from codex_adapter.agents.claude.stream.lines import Result
from codex_adapter.core.state import checked_cost

__all__ = ["Cost", "RunCosts"]

_LAST_OF_PROCESS: Final = (2, 1, 152)
"""The newest release of which a run showed that its total is that of the process."""
_DIGITS: Final = 10
"""Decimal places. Sums of the CLI's numbers have noise beyond them."""


class Cost(NamedTuple):
    """The cost of a turn and of the run so far, in US dollars; None if it is unknown."""

    turn: float | None
    run: float | None


class _Model(msgspec.Struct, gc=False):
    cost: float = msgspec.field(name="costUSD")
    basis: str | None = msgspec.field(default=None, name="costBasis")


_decode_models: Callable[[msgspec.Raw], dict[str, _Model]] = msgspec.json.Decoder(dict[str, _Model]).decode
_decode_total: Callable[[msgspec.Raw], float] = msgspec.json.Decoder(float).decode


class RunCosts:
    """The costs of one run, result by result."""

    __slots__ = ("_run", "_total", "release")

    def __init__(self) -> None:
        self.release: str | None = None
        """The release that the CLI reported."""
        self._run: float | None = 0.0
        self._total = 0.0

    def at_result(self, line: Result) -> Cost:
        """Return the costs at the end of a turn."""
        turn = self._turn(line)
        self._run = None if turn is None or self._run is None else self._run + turn
        return Cost(_rounded(turn), _rounded(self._run))

    def _turn(self, line: Result) -> float | None:
        try:
            models = _decode_models(line.model_usage_since_last_result)
        except Exception:  # noqa: BLE001 - older releases do not have it
            return self._turn_of_process(line)
        # The CLI knows no price of such a model and uses that of another one.
        if any(model.basis == "unknown" for model in models.values()):
            return None
        return checked_cost(sum(model.cost for model in models.values()))

    def _turn_of_process(self, line: Result) -> float | None:
        try:
            total = checked_cost(_decode_total(line.total_cost_usd))
        except Exception:  # noqa: BLE001 - another value is not a cost
            return None
        if total is None or total < self._total or _is_newer(self.release):
            return None
        before, self._total = self._total, total
        return total - before


def _is_newer(release: str | None) -> bool:
    try:
        return release is not None and tuple(map(int, release.split("."))) > _LAST_OF_PROCESS
    except ValueError:
        return True


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(float(usd), _DIGITS)
