"""Test the output descriptors of a command."""

from __future__ import annotations

import os
import threading

import pytest
import trio

from codex_adapter.workspace.outputs import Outputs

from ..faults.leftovers import descriptors

pytestmark = pytest.mark.rule("H8", "H11")


async def test_one_who_writes_for_ever_is_not_listened_to_for_ever() -> None:
    with Outputs(1000, announced=False) as outputs:
        writer = os.dup(outputs.command_ends[1])
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                os.write(writer, b"x" * 65536)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            stdout, stderr = outputs.take_rest()
        finally:
            stop.set()
            # What the writer waits to be read.
            while thread.is_alive():
                outputs.take_rest()
            thread.join()
            os.close(writer)
    assert set(stdout.head) <= {ord("x")}
    assert stderr.text() == ""
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("announced", [False, True])
async def test_descriptors_that_were_never_given_to_a_command_are_closed(announced: bool) -> None:
    before = descriptors()
    with Outputs(0, announced=announced) as outputs:
        assert outputs.shell_has_started() is not announced
    assert descriptors() == before
    await trio.lowlevel.checkpoint()
