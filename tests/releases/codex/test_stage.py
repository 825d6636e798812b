"""Test that a stage contains all inputs of a case, and a server or none."""

from __future__ import annotations

import socket
import tomllib
from pathlib import Path

import pytest

from codex_adapter.testing import script
from tests.releases.codex.catalogue import FIRST_THREAD, Case, Run
from tests.releases.codex.stage import set_stage, thread_to_continue

pytestmark = pytest.mark.rule("TK4")


def _config(root: Path) -> dict[str, object]:
    return tomllib.loads((root / "codex_home" / "config.toml").read_text())


def test_the_files_of_the_case_and_the_directories_beside_them_are_there(tmp_path: Path) -> None:
    case = Case(name="x", about="X.", scenario=script("x"), files={"f.txt": "é"}, config="extra = 1\n")
    with set_stage(case, tmp_path / "stage") as stage:
        assert (stage.workspace / "f.txt").read_text() == "é"
        assert Path(stage.env["CODEX_HOME"]).is_dir()
        assert Path(stage.env["TMPDIR"]).is_dir()
        stage.write_inputs(Run(output_schema={"type": "object"}, images=("a.png", "f.txt")))
        assert stage.schema.read_text() == '{"type":"object"}'
        assert (stage.workspace / "a.png").read_bytes().startswith(b"\x89PNG")
        assert (stage.workspace / "f.txt").read_text() == "é"
    assert _config(tmp_path / "stage")["extra"] == 1


def test_settings_of_the_provider_are_added_and_may_be_others(tmp_path: Path) -> None:
    provider: dict[str, str | int | bool] = {"wire_api": "chat", "stream_max_retries": 1, "x": True}
    with set_stage(Case(name="x", about="X.", provider=provider), tmp_path / "stage") as stage:
        [scripted] = _config(tmp_path / "stage")["model_providers"].values()  # type: ignore[attr-defined]
        assert scripted == {"name": "scripted", "base_url": stage.server.base_url, **provider}


def test_another_provider_can_be_named(tmp_path: Path) -> None:
    with set_stage(Case(name="x", about="X.", config='model_provider = "nobody"\n'), tmp_path / "stage"):
        assert _config(tmp_path / "stage")["model_provider"] == "nobody"


def test_an_unreachable_server_is_not_there(tmp_path: Path) -> None:
    with set_stage(Case(name="x", about="X.", unreachable=True), tmp_path / "stage") as stage:
        with socket.socket() as client, pytest.raises(ConnectionRefusedError):
            client.connect(("127.0.0.1", stage.server.port))


def test_the_first_thread_is_the_one_to_continue_when_the_case_says_so() -> None:
    assert thread_to_continue(FIRST_THREAD, "T") == "T"
    assert thread_to_continue("another", "T") == "another"
    with pytest.raises(ValueError, match="no thread id"):
        thread_to_continue(FIRST_THREAD, None)
