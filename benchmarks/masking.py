"""Measure the cost of masking: `python -m benchmarks.masking [STREAM]... [--lines N] [--rounds N]`.

Each round measures the path to the records without masking, and with an environment of 0, 5 and 20 secrets. The
measurements use the same bytes, one after the other, in CPU seconds. The table shows the minimum of the rounds, and the
median of the added cost.
"""

from __future__ import annotations

import argparse
import random
import string
import time
from statistics import median
from typing import Final

from typing_extensions import override

from benchmarks.streams import STREAMS, Stream, make
from codex_adapter import codex_pipeline
from codex_adapter.core.masking.masker import Masker
from codex_adapter.records import encode_events

_READ_SIZE: Final = 65_536
_SECRETS: Final = (0, 5, 20)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.masking", description=__doc__)
    parser.add_argument("streams", nargs="*", metavar="STREAM", help=f"of {', '.join(STREAMS)}; default: realistic")
    parser.add_argument("--lines", type=int, default=1_000, help="lines of a stream (default: 1000)")
    parser.add_argument("--rounds", type=int, default=200, help="rounds, after one that does not count (default: 200)")
    options = parser.parse_args()
    print(f"{'stream':<12}{'payloads':<10}{'without':>12}" + "".join(f"{f'{count} secrets':>24}" for count in _SECRETS))
    for name in options.streams or ["realistic"]:
        stream = make(name, options.lines)
        for full in (False, True):
            _print(stream, full, options.rounds)


def _print(stream: Stream, full: bool, rounds: int) -> None:
    without: list[float] = []
    times: dict[int, list[float]] = {count: [] for count in _SECRETS}
    for number in range(rounds + 1):
        measured = _seconds(stream, full, None), {count: _seconds(stream, full, count) for count in _SECRETS}
        if number:
            without.append(measured[0])
            for count in _SECRETS:
                times[count].append(measured[1][count])
    per_line = 1e6 / stream.lines
    row = f"{stream.name:<12}{'full' if full else 'metadata':<10}{min(without) * per_line:>9.2f} us"
    for count in _SECRETS:
        least = min(times[count])
        added = median(with_ / base - 1 for with_, base in zip(times[count], without, strict=True))
        row += f"{least * per_line:>9.2f} +{least / min(without) - 1:>5.1%} ({added:>5.1%})"
    print(row, flush=True)


class _NoMasker(Masker):
    """Masks nothing, at no cost."""

    @override
    def may_touch(self, _texts: object) -> bool:
        return False

    @override
    def mask(self, text: str) -> str:
        return text


def _seconds(stream: Stream, full: bool, secrets: int | None) -> float:
    pipeline = codex_pipeline(full_payloads=full, secrets=_environment(secrets or 0))
    if secrets is None:
        pipeline._masker = _NoMasker()
        vars(pipeline.decoder)["_mask"] = pipeline._masker.mask
    chunks = [stream.data[start : start + _READ_SIZE] for start in range(0, len(stream.data), _READ_SIZE)]
    start = time.process_time()
    for chunk in chunks:
        encode_events(pipeline.receive_data(chunk))
    encode_events(pipeline.receive_eof())
    return time.process_time() - start


def _environment(count: int) -> tuple[str, ...]:
    """Tokens and passwords of the usual lengths, every fourth with signs and beyond ASCII; always the same."""
    rng = random.Random(3)
    tokens = string.ascii_letters + string.digits
    signs = "p@ss/{}\u00e9"
    made = ("".join(rng.choices(tokens, k=length)) for length in (24, 40, 14, 64) * count)
    return tuple(
        signs.format(value) if len(value) == 14 else value for _, value in zip(range(count), made, strict=False)
    )


if __name__ == "__main__":
    main()
