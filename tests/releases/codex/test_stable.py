"""Test that the stable form keeps the output of a release and drops what varies."""

from __future__ import annotations

from pathlib import Path

import pytest

from .stable import Stable

pytestmark = pytest.mark.rule("R2")

ONE, TWO = b"01a201b0-a964-7743-a8c1-5506f9cc8c38", b"01a201b0-a5bc-7b21-a029-d623a83f7dde"


def test_threads_are_numbered_in_the_order_in_which_they_come_in_all_runs_of_a_case() -> None:
    stable = Stable(Path("/nowhere"))
    assert stable.form(TWO) == b"01900000-0000-7000-8000-000000000001"
    assert stable.form(ONE + b" " + TWO) == (
        b"01900000-0000-7000-8000-000000000002 01900000-0000-7000-8000-000000000001"
    )


def test_paths_and_ports_are_those_of_no_machine(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    line = f'{{"path":"{tmp_path}/a","other":"{link}/b","url":"http://127.0.0.1:34567/v1"}}\n'
    assert Stable(link).form(line.encode()) == (
        b'{"path":"/scratch/a","other":"/scratch/b","url":"http://127.0.0.1:8080/v1"}\n'
    )


def test_pauses_are_evened_out_in_notices_and_nowhere_else() -> None:
    notice = b'{"type":"error","message":"retrying 1/5 in 190ms"}\n'
    item = b'{"type":"item.completed","item":{"text":"it took 190ms, and nothing after 1s"}}'
    assert Stable(Path("/nowhere")).form(notice + item) == notice.replace(b"190ms", b"1s") + item
    assert Stable(Path("/nowhere")).form(item.replace(b"after 1s", b"after 999.98ms")) == item


def test_an_id_that_a_case_made_up_stays() -> None:
    made_up = b"01234567-89ab-7def-8123-456789abcdef"
    assert Stable(Path("/nowhere")).form(made_up + ONE) == made_up + ONE
    assert Stable(Path("/nowhere")).form(made_up + b"\n" + ONE).endswith(b"000000000001")


def test_lines_end_at_newlines_only() -> None:
    odd = '{"type":"error","message":"a\u2028b\x85c\rd"}\n'.encode()
    assert Stable(Path("/nowhere")).form(odd) == odd
