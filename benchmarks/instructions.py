"""Count the machine instructions per line of each stage: `python -m benchmarks.instructions [STREAM]... [--lines N]`.

Valgrind must be installed. A time varies by ten percent from run to run. An instruction count varies by some
thousandths, and does not depend on other load. The counts show how close a stage is to the lower bound, the typed
decode.

Each stage runs alone over the output of the stage before it, without garbage collection, after one run that does not
count. The pipeline without framing and parsing is the conversion, the masking and the bounds.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.streams import STREAMS, make
from codex_adapter import codex_pipeline
from codex_adapter.agents.codex.stream.line_parser import parse_lines
from codex_adapter.agents.codex.stream.lines import DecodedEvent
from codex_adapter.core.framing import LineFramer
from codex_adapter.records import encode_events

_READ_SIZE: Final = 65_536
_LIMIT: Final = 16 * 1024 * 1024
_FLOOR: Final = "decode"
_STREAMS: Final = ("realistic", "small", "malformed")
# Valgrind writes down and forgets what it has counted whenever this function of the C library is entered. Nothing else
# of Python calls it.
_MARK: Final = "getppid"


def main() -> int:
    """Count and print a table a stream; 2 without valgrind."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument(
        "streams", nargs="*", metavar="STREAM", help=f"of {', '.join(STREAMS)}; default: {', '.join(_STREAMS)}"
    )
    parser.add_argument("--lines", type=int, default=5_000, help="lines of a stream (default: 5000)")
    parser.add_argument("--under-valgrind", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.streams or list(_STREAMS)
    if not set(names) <= set(STREAMS):
        parser.error(f"streams are {', '.join(STREAMS)}")
    if options.under_valgrind:
        _run_stages(make(names[0], options.lines).data)
        return 0
    if (valgrind := shutil.which("valgrind")) is None:
        print("valgrind is not installed; install it, or count with: python -m benchmarks.work", file=sys.stderr)
        return 2
    for name in names:
        lines = make(name, options.lines).lines  # fewer, where they are so long that these will do
        counts = _counts(valgrind, name, options.lines)
        print(f"\n{name}: {lines} lines; Python {sys.version.split()[0]}, msgspec {msgspec.__version__}")
        print(f"{'stage':<24}{'instructions/line':>20}{f'of {_FLOOR}':>14}")
        for stage, count in counts.items():
            print(f"{stage:<24}{count / lines:>20.0f}{count / counts[_FLOOR]:>14.2f}")
    return 0


def _stages(data: bytes) -> dict[str, Callable[[], object]]:
    """What is counted, by name; each can be run again and again."""
    chunks = [data[start : start + _READ_SIZE] for start in range(0, len(data), _READ_SIZE)]
    lines = data.split(b"\n")[:-1]
    framer, pipeline = LineFramer(_LIMIT), codex_pipeline()
    framed = [framer.receive_data(chunk) for chunk in chunks]
    batches = [pipeline.receive_data(chunk) for chunk in chunks]
    typed = msgspec.json.Decoder(DecodedEvent).decode

    def decode() -> None:
        # Nothing of Python for a line but for those that are refused: what no adapter can be cheaper than.
        rest, done = iter(lines), False
        while not done:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                deque(map(typed, rest), maxlen=0)
                done = True

    def frame() -> None:
        framer = LineFramer(_LIMIT)
        for chunk in chunks:
            framer.receive_data(chunk)

    def parse() -> None:
        for batch in framed:
            list(parse_lines(batch))

    def process() -> None:
        pipeline = codex_pipeline()
        for chunk in chunks:
            pipeline.receive_data(chunk)

    def encode() -> None:
        for batch in batches:
            encode_events(batch)

    return {_FLOOR: decode, "frame": frame, "parse": parse, "pipeline": process, "encode": encode}


def _run_stages(data: bytes) -> None:
    """Between one mark and the next, one stage."""
    stages = _stages(data)
    gc.collect()
    gc.disable()
    for stage in stages.values():
        stage()
    for stage in stages.values():
        os.getppid()
        stage()
    os.getppid()


def _counts(valgrind: str, stream: str, lines: int) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        command = [valgrind, "--tool=callgrind", f"--dump-before={_MARK}", f"--callgrind-out-file={out}"]
        command += [sys.executable, "-m", "benchmarks.instructions", stream, f"--lines={lines}", "--under-valgrind"]
        # The same hashes each time, and an environment of the same size.
        environment = {"PATH": os.defpath, "PYTHONHASHSEED": "0", "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"valgrind failed with {done.returncode}:\n{done.stderr}")
        stages = list(_stages(b""))
        # The first part is all that came before; the rest after the last mark has no number.
        counts = {stage: _total(Path(f"{out}.{number}")) for number, stage in enumerate(stages, 2)}
    rest = counts["pipeline"] - counts["frame"] - counts["parse"]
    return {
        _FLOOR: counts[_FLOOR],
        "frame": counts["frame"],
        "parse": counts["parse"],
        "map, mask, bound": rest,
        "pipeline (these three)": counts["pipeline"],
        "encode": counts["encode"],
        "pipeline and encode": counts["pipeline"] + counts["encode"],
    }


def _total(path: Path) -> int:
    found = re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("valgrind has written no counts; is this a Python that is linked to the C library?")
    return int(found[1])


if __name__ == "__main__":
    sys.exit(main())
