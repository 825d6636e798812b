"""Fuzz the pipeline, guided by branch coverage.

    python -m tests.fuzz [--seconds N] [--corpus DIR] [INPUT...]

This needs the distribution `atheris`. An input that breaks a rule ends the search and is stored in
`tests/fuzz/crashes`, where the regular tests find it. Rename it there. With INPUTs the program does not search. It
checks these inputs, which does not need `atheris`, and raises at the first one that breaks a rule.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Final

_INSTRUMENTED: Final = ["codex_adapter.core", "codex_adapter.records"]
_SECONDS_FOR_ONE: Final = 10
_LONGEST: Final = 16_384


def main() -> None:
    """Check the inputs that are named, or search for one that breaks a rule."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("inputs", nargs="*", type=Path, metavar="INPUT", help="check these instead")
    parser.add_argument("--seconds", type=int, default=600, help="how long to search (default: 600)")
    parser.add_argument("--corpus", type=Path, help="a directory that keeps what was found worth going on with")
    options = parser.parse_args()
    if options.inputs:
        check = importlib.import_module("tests.fuzz.pipeline").check
        for path in options.inputs:
            check(path.read_bytes())
        return
    with tempfile.TemporaryDirectory() as folder:
        corpus = options.corpus or Path(folder, "corpus")
        corpus.mkdir(parents=True, exist_ok=True)
        _search(Path(folder), corpus, options.seconds)


def _search(folder: Path, corpus: Path, seconds: int) -> None:
    """Does not return: libFuzzer ends the process, with status 0 when nothing was found."""
    atheris = importlib.import_module("atheris")
    # What is instrumented must not have been imported before.
    with atheris.instrument_imports(include=_INSTRUMENTED):
        pipeline = importlib.import_module("tests.fuzz.pipeline")
    seeds = importlib.import_module("tests.fuzz.seeds")
    mutated = importlib.import_module("tests.fuzz.mutations").mutated
    agents, header = list(importlib.import_module("tests.agents.table").AGENTS.values()), pipeline.HEADER
    tokens = [token for agent in agents for token in seeds.tokens(agent)]

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        data = data.ljust(header, b"\0")
        agent = agents[(data[0] >> 6) % len(agents)]
        other: bytes = data[:header] + mutated(data[header:], seeds.recordings(agent), seeds.tokens(agent), random)
        return other[:most]

    begin = folder / "seeds"
    begin.mkdir()
    for number, data in enumerate(seeds.inputs()):
        (begin / str(number)).write_bytes(data)
    words = folder / "dictionary"
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in set(tokens)))
    seeds.CRASHES.mkdir(exist_ok=True)
    arguments = [
        *(f"-max_total_time={seconds}", f"-max_len={_LONGEST}", f"-timeout={_SECONDS_FOR_ONE}", f"-dict={words}"),
        *(f"-artifact_prefix={seeds.CRASHES}/", "-print_final_stats=1", str(corpus), str(begin)),
    ]
    atheris.Setup([sys.argv[0], *arguments], pipeline.check, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
