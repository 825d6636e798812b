"""Execute `codex-adapter view`: show the records of past runs to a person, as text or as a page (C10, C21)."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import trio

from codex_adapter.cli.arguments import Command, Once, Parser, json_lines_or_pretty
from codex_adapter.cli.errors import UsageError, report_error
from codex_adapter.cli.inputs import open_input
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.file_narration import FileNarrator
from codex_adapter.cli.present.lines import printable
from codex_adapter.cli.present.views import lines_view
from codex_adapter.cli.present.wording import amount
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.view.directory import index_page_of, is_directory, show_index
from codex_adapter.cli.view.record_reader import PlacedRecord, RecordReader
from codex_adapter.file_systems import work_through

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Show the output of `run --format jsonl`, or a journal of `serve --journal`: as text, or as a self-contained HTML page.
A journal has times; the output of `run` has none. The file is not changed.

For a directory of journals, show its runs, newest first: as a table, as a page, or as records. The page has a link to
each RUNID.html beside a journal; the last example writes all of them.
"""
_EXAMPLES = """\
  codex-adapter view journal/0199a213.jsonl
  codex-adapter view --html run.html journal/0199a213.jsonl
  codex-adapter view journal
  codex-adapter view --format jsonl journal
  codex-adapter run 'Fix the failing test' | tee run.jsonl | codex-adapter view -
"""
_ALL_PAGES: Final = """\
  for f in journal/*.jsonl; do codex-adapter view --html "${f%.jsonl}.html" "$f"; done
"""
_NO_RECORD: Final = (
    "FILE contains no record. Specify output of `run --format jsonl`, or a journal of `serve`"
    " (for recorded output of an agent CLI, use `replay`)"
)


_NOT_STARTED: Final = (
    "FILE is empty. If it is a journal, its run has not started: the run still waits, or its daemon ended before that"
)
_UNREADABLE: Final = "FILE cannot be read. Specify the path of a file with records, or - for standard input"


def _parser(_words: Sequence[str]) -> Parser:
    parser = Parser("view", "[OPTIONS] FILE|DIR", _DESCRIPTION, _EXAMPLES + _ALL_PAGES)
    add = parser.add_argument
    add("file", metavar="FILE|DIR", help="a file with records; - for standard input; or a directory of journals")
    add("--html", action=Once, metavar="OUT", help="write an HTML page to this file; - for standard output")
    form = "for a directory: jsonl with a record for each run, or pretty (default: pretty)"
    add("--format", action=Once, type=json_lines_or_pretty, metavar="FORMAT", help=form)
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    if options.html is not None:
        _keep_apart(options.file, options.html)
    if options.html is not None and options.format == "jsonl":
        raise UsageError("--html and --format jsonl exclude each other. Use one of them")
    with stop.interrupting():
        if await is_directory(options.file):
            await _view_directory(options, output)
        elif options.format == "jsonl":
            raise UsageError("--format jsonl needs a directory of journals. FILE already contains records")
        elif options.html is None:
            await _show_text(options.file, output)
        else:
            await _write_page(options.file, options.html, output)
    return stop.exit_status or 0


async def _view_directory(options: argparse.Namespace, output: Output) -> None:
    if options.html is None:
        await show_index(options.file, output, for_program=options.format == "jsonl")
        return
    if options.html.endswith(".jsonl"):
        raise UsageError("--html: OUT must not have the name of a journal, *.jsonl. Use another name")
    content, remarks = await index_page_of(options.file, options.html)
    await _put(content, options.html, remarks, output)


async def _show_text(file: str, output: Output) -> None:
    reader = RecordReader()
    narrator = FileNarrator()
    view = lines_view(narrator.narrate, output)

    async def take(records: Iterable[PlacedRecord]) -> bool:
        return await output.write(view.show([*records]))

    await _read(file, reader, take)
    await output.write(view.show([reader.asked]))
    for remark in _remarks(reader):
        report_error(remark)


async def _write_page(file: str, out: str, output: Output) -> None:
    from codex_adapter.cli.view.page import page  # noqa: PLC0415 - both are for pages only
    from codex_adapter.cli.view.timeline import RunTimeline, timelines  # noqa: PLC0415

    reader = RecordReader()
    records: list[PlacedRecord] = []

    async def take(more: Iterable[PlacedRecord]) -> bool:
        records.extend(more)
        await trio.lowlevel.checkpoint()
        return True

    await _read(file, reader, take)
    remarks = _remarks(reader)
    # A run that was requested and has no record yet.
    silent = [] if reader.asked is None else [RunTimeline(reader.asked)]
    content = await trio.to_thread.run_sync(
        lambda: page([*timelines(records), *silent], remarks), abandon_on_cancel=True
    )
    await _put(content, out, remarks, output)


async def _put(content: bytes, out: str, remarks: Iterable[str], output: Output) -> None:
    """Write a page to its file or to standard output, and print the path of the file."""
    from codex_adapter.cli.output_file import OutputFile  # noqa: PLC0415 - for pages only

    if out == "-":
        await output.write(content)
    else:
        try:
            target = await work_through(OutputFile(out, "--html: OUT").write, content)
        except (OSError, ValueError) as error:
            reason = os.strerror(getattr(error, "errno", None) or errno.EINVAL)
            raise UsageError(f"--html: OUT cannot be written ({reason}). Specify another file") from None
        await output.write(f"The page is in {printable(target)}\n".encode(errors="backslashreplace"))
    for remark in remarks:
        report_error(remark)


async def _read(file: str, reader: RecordReader, take: Callable[[Iterable[PlacedRecord]], Awaitable[bool]]) -> None:
    """Pass the records of a file to `take` as they arrive, until it returns False.

    Raise `UsageError` if the file has no records.
    """
    empty = True
    try:
        async with open_input(file) as read:
            while data := await read():
                empty = False
                if not await take(reader.receive_data(data)):
                    return
            await take(reader.receive_eof())
    except (OSError, ValueError):
        raise UsageError(_UNREADABLE) from None
    if not reader.records and reader.asked is None:
        raise UsageError(_NOT_STARTED if empty and file.endswith(".jsonl") else _NO_RECORD)


def _remarks(reader: RecordReader) -> list[str]:
    """Return sentences about what could not be read, without its content."""
    lines = amount(reader.invalid, "line that is not a record was", "lines that are not records were")
    invalid = [f"{lines} skipped."] if reader.invalid else []
    return [*invalid, *(["The last line is incomplete: its writer was stopped."] if reader.torn else [])]


def _keep_apart(file: str, out: str) -> None:
    """Raise `UsageError` if the page would overwrite the file."""
    try:
        same = out != "-" and os.path.samestat(os.fstat(0) if file == "-" else Path(file).stat(), Path(out).stat())
    except (OSError, ValueError):
        return
    if same:
        raise UsageError("--html: OUT must not be the same file as FILE. Specify another file")


COMMAND = Command(_parser, _perform)
