"""Test the pipe reader: at its own pace, to the end, and not after the close."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio
import trio.testing

from codex_adapter.runtime.pipe_reader import PipeReader


@contextmanager
def opened() -> Iterator[tuple[PipeReader, int]]:
    """A reader of a pipe, and the pipe's other end."""
    reading, writing = os.pipe()
    reader = PipeReader(reading)
    try:
        yield reader, writing
    finally:
        reader.close()
        os.close(writing)


@pytest.mark.rule("D1")
async def test_what_is_there_is_read_and_what_is_not_is_waited_for() -> None:
    with opened() as (reader, writer):
        for data in (b"one", b"two, longer than what is asked for", b"three"):
            os.write(writer, data)
            with trio.fail_after(60):
                read = b""
                while read != data:
                    read += await reader.receive_some(8)
        with trio.move_on_after(0) as scope:
            await reader.receive_some(8)
        assert scope.cancelled_caught
        os.write(writer, b"four")
        assert await reader.receive_some(8) == b"four"


@pytest.mark.rule("D1")
@pytest.mark.parametrize("size", [4, 100])
async def test_every_read_lets_other_tasks_run(size: int) -> None:
    with opened() as (reader, writer):
        os.write(writer, b"four" * 10)
        with trio.testing.assert_checkpoints():
            assert (await reader.receive_some(size))[:4] == b"four"


@pytest.mark.rule("F7")
async def test_whoever_waits_is_given_the_end_when_it_is_closed() -> None:
    with opened() as (reader, _):
        ends: list[bytes] = []

        async def read() -> None:
            ends.append(await reader.receive_some(8))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await trio.testing.wait_all_tasks_blocked()
            reader.close()
        reader.close()
        ends.append(await reader.receive_some(8))
        assert ends == [b"", b""]


@pytest.mark.rule("S7", "D1")
async def test_what_cannot_be_read_raises(tmp_path_factory: pytest.TempPathFactory) -> None:
    reader = PipeReader(os.open(tmp_path_factory.mktemp("folder"), os.O_RDONLY))
    try:
        with pytest.raises(IsADirectoryError):
            await reader.receive_some(8)
    finally:
        reader.close()
