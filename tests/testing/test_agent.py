"""Test the scripted agent as a process: its output, input and files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from codex_adapter.testing import (
    Fill,
    IgnoreSignals,
    PrintBytes,
    PrintFile,
    PrintJson,
    PrintText,
    ReadPrompt,
    Repeat,
    Step,
    WriteFacts,
    WriteFile,
    WriteStderr,
    agent_descendants,
    agent_program,
    demo_script,
    long_line,
    read_facts,
    write_agent,
)

pytestmark = pytest.mark.rule("TK2")

RUN = ("exec", "--json", "-")


def _play(directory: Path, *script: Step, prompt: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    binary = write_agent(directory / "bin", script)
    return subprocess.run([binary, *RUN], input=prompt, capture_output=True, cwd=directory, timeout=60, check=False)


def _lines(output: bytes) -> Sequence[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


def test_it_prints_text_bytes_and_json(tmp_path: Path) -> None:
    done = _play(
        tmp_path,
        PrintText("é\u2028"),
        PrintText("no end", end=""),
        PrintBytes(b"\x00\xff\n"),
        PrintJson({"type": "é", "n": 1}),
    )
    assert done.stdout == b"\xc3\xa9\xe2\x80\xa8\nno end\x00\xff\n" + '{"type":"é","n":1}\n'.encode()
    assert (done.returncode, done.stderr) == (0, b"")


def test_it_prints_a_recording_whole_or_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "recording").write_bytes(b"abc\ndef\n" * 1000)
    done = _play(tmp_path, PrintFile("recording"), PrintFile("recording", piece=3))
    assert done.stdout == b"abc\ndef\n" * 2000


def test_it_prints_a_line_of_any_length_in_constant_memory(tmp_path: Path) -> None:
    size = 100_000_000
    limited = [sys.executable, "-c", _LIMITED, write_agent(tmp_path, [long_line(size), Fill(3, "<", ">", "é")])]
    done = subprocess.run([*limited, *RUN], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    line, _, rest = done.stdout.partition(b"\n")
    assert len(line) == size
    assert line.endswith(b'xxx"}}')
    assert rest == "<ééé>".encode()
    assert json.loads(line)["type"] == "item.completed"


_LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (50_000_000, 50_000_000))
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_long_line_cannot_be_shorter_than_its_frame() -> None:
    with pytest.raises(ValueError, match="at least"):
        long_line(10)


def test_it_repeats_a_line_at_once_or_at_a_rate(tmp_path: Path) -> None:
    done = _play(tmp_path, Repeat("abc", count=100_000), Repeat("d", count=3, per_second=1000), Repeat("e", count=0))
    assert done.stdout == b"abc\n" * 100_000 + b"d\n" * 3


def test_it_writes_to_stderr_a_text_or_as_much_of_it_as_asked(tmp_path: Path) -> None:
    done = _play(tmp_path, WriteStderr("ab"), WriteStderr("xyz", size=1_000_000), WriteStderr())
    assert done.stderr == b"ab" + (b"xyz" * 333_334)[:1_000_000] + b"noise on standard error\n"


def test_it_tells_what_it_sees(tmp_path: Path) -> None:
    binary = write_agent(tmp_path / "bin", [ReadPrompt(), WriteFacts("facts.json")])
    prompt = "do it\né".encode() + b"\xff" + b"x" * 200_000
    with subprocess.Popen([binary, *RUN], stdin=subprocess.PIPE, cwd=tmp_path, env={"A": "é"}) as process:
        process.communicate(prompt, timeout=60)
    facts = read_facts(tmp_path / "facts.json")
    assert facts.argv == [binary, *RUN]
    assert facts.env == {"A": "é"}
    assert facts.cwd == str(tmp_path)
    assert facts.prompt is not None
    assert facts.prompt.encode("utf-8", "surrogateescape") == prompt
    assert (facts.pid, facts.parent) == (process.pid, os.getpid())
    assert (facts.group, facts.session) == (os.getpgrp(), os.getsid(0))
    assert facts.open_files == [0, 1, 2]


def test_it_knows_no_prompt_that_it_has_not_read(tmp_path: Path) -> None:
    _play(tmp_path, WriteFacts("before"), ReadPrompt(), WriteFacts("after"), prompt=b"")
    assert read_facts(tmp_path / "before").prompt is None
    assert read_facts(tmp_path / "after").prompt == ""


def test_it_writes_files(tmp_path: Path) -> None:
    _play(tmp_path, WriteFile("a/b/c.txt", "text"), WriteFile("empty"))
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "text"
    assert (tmp_path / "empty").read_bytes() == b""


def test_the_demo_plays_a_session_and_writes_the_file(tmp_path: Path) -> None:
    done = _play(tmp_path, *demo_script(path="made.txt", text="by the agent", pause=0.001), prompt=b"go")
    lines = _lines(done.stdout)
    assert [line["type"] for line in lines[:2]] == ["thread.started", "turn.started"]
    items = [line["item"] for line in lines if "item" in line]
    assert [(item["type"], item.get("status")) for item in items if isinstance(item, dict)] == [
        ("reasoning", None),
        ("command_execution", "in_progress"),
        ("command_execution", "completed"),
        ("command_execution", "in_progress"),
        ("command_execution", "failed"),
        ("file_change", "in_progress"),
        ("file_change", "completed"),
        ("agent_message", None),
    ]
    assert lines[-1]["type"] == "turn.completed"
    assert (tmp_path / "made.txt").read_text() == "by the agent"


def test_each_step_is_carried_out_by_name() -> None:
    tags = {kind.__struct_config__.tag for kind in get_args(Step)}
    assert tags == agent_program.ACTIONS.keys() | agent_descendants.ACTIONS.keys()


def test_steps_are_plain_data() -> None:
    steps = [PrintBytes(b"\xff"), Repeat("x", per_second=2.0), IgnoreSignals(("SIGINT",)), *demo_script()]
    assert msgspec.json.decode(msgspec.json.encode(steps), type=list[Step]) == steps


def test_an_interpreter_in_a_place_that_no_first_line_can_name_is_started_by_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "with spaces" / "python"
    place.parent.mkdir()
    place.symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr("sys.executable", str(place))
    assert _play(tmp_path, PrintText("hi")).stdout == b"hi\n"
