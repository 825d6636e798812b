"""Count work: unlike a time, a count is the same on each machine and under any load.

The interpreter reports each bytecode instruction and each call of a function in C. It does not report the work inside a
function in C: a slower regular expression is still one call. `benchmarks.instructions` counts this work.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

__all__ = ["c_calls", "instructions", "kept_blocks", "peak_bytes"]

Work = Callable[[], object]


def instructions(work: Work, *, within: str = "") -> Counter[str]:
    """Bytecode instructions by function, of code whose file begins with `within`.

    They are those of the compiler, before any specialization: the same number each time, another for another minor
    version of Python.
    """
    counts: Counter[CodeType] = Counter()
    with _settled():
        if sys.version_info >= (3, 12):
            _monitor(work, counts)
        else:
            _trace(work, counts)
    return Counter({
        f"{code.co_filename.rpartition('/')[2]}:{code.co_qualname}": count
        for code, count in counts.items()
        if code.co_filename.startswith(within) and code.co_filename != __file__
    })  # fmt: skip


def c_calls(work: Work) -> Counter[str]:
    """Calls of functions and methods in C by name, from Python code; not those of types, nor from C to C."""
    counts: Counter[str] = Counter()

    def note(_frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call":
            module = getattr(function, "__module__", None) or "builtins"
            counts[function.__qualname__ if module == "builtins" else f"{module}.{function.__qualname__}"] += 1

    before = sys.getprofile()
    with _settled():
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(before)
    del counts["sys.setprofile"]
    return counts


def kept_blocks(work: Work) -> int:
    """Blocks of memory that are in use for as long as what `work` returns is kept."""
    with _settled():
        before = sys.getallocatedblocks()
        kept = work()
        count = sys.getallocatedblocks() - before
        del kept
    return count


def peak_bytes(work: Work) -> int:
    """The most memory that was in use at once, beyond what was before; copies show here if they live at that moment."""
    with _settled():
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@contextmanager
def _settled() -> Iterator[None]:
    """Without a garbage collection in between, which comes when it likes."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _trace(work: Work, counts: Counter[CodeType]) -> None:
    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode":
            counts[frame.f_code] += 1
        else:
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)


if sys.version_info >= (3, 12):

    def _monitor(work: Work, counts: Counter[CodeType]) -> None:
        def note(code: CodeType, _offset: int) -> None:
            counts[code] += 1

        monitoring = sys.monitoring
        event = monitoring.events.INSTRUCTION
        tool = next(number for number in (3, 4) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, "benchmarks")
        monitoring.register_callback(tool, event, note)
        monitoring.set_events(tool, event)
        try:
            work()
        finally:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)
