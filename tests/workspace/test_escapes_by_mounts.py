"""Test other and broken file systems in a workspace, in a mount namespace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..needs import missing
from .outside import SECRET, outside_tree, snapshot

ROOT = Path(__file__).parents[2]
NAMESPACE = ["unshare", "-Urm", "--propagation", "private"]
REFUSED = dict.fromkeys(("read", "digest", "replace", "overwrite", "create", "delete", "sweep", "directory"), "outside")


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"]
    if subprocess.run(probe, check=False, stderr=subprocess.DEVNULL).returncode != 0:
        missing("namespaces")


def run(case: str, top: Path) -> list[object]:
    outside_tree(top / "outside")
    (top / "root").mkdir()
    before = snapshot(top / "outside")
    program = [*NAMESPACE, sys.executable, "-m", "tests.workspace.mounted", case, str(top)]
    printed = subprocess.run(program, check=True, stdout=subprocess.PIPE, cwd=ROOT, timeout=60).stdout
    assert snapshot(top / "outside") == before
    seen = json.loads(printed)
    assert isinstance(seen, list)
    return seen


@pytest.mark.rule("H1", "H3")
@pytest.mark.parametrize(
    ("case", "allowed"),
    [
        pytest.param(
            "bound_directory",
            SECRET.decode(),
            marks=pytest.mark.fault(
                "workspace", "A directory outside is mounted in the root", "Access is refused as outside"
            ),
        ),
        pytest.param(
            "bound_below",
            SECRET.decode(),
            marks=pytest.mark.fault(
                "workspace", "A link inside points below a mounted directory", "Access is refused as outside"
            ),
        ),
        pytest.param(
            "other_file_system",
            "elsewhere",
            marks=pytest.mark.fault(
                "workspace", "Another file system is mounted in the root", "Access is refused as outside"
            ),
        ),
        pytest.param(
            "bound_root",
            "inside",
            marks=pytest.mark.fault("workspace", "The root is mounted in itself", "Access is refused as outside"),
        ),
    ],
)
def test_what_is_mounted_in_the_root_is_outside_unless_it_is_allowed(case: str, allowed: str, tmp_path: Path) -> None:
    refused, read = run(case, tmp_path)
    assert isinstance(refused, dict)
    entries = refused.pop("entries")
    assert refused == REFUSED
    assert read == allowed
    assert entries == [[["file", 6]] if case == "bound_root" else [], 1, True]


@pytest.mark.rule("H1", "H3")
@pytest.mark.fault(
    "workspace", "A file outside is mounted over a file in the root", "Reading, writing and deleting are refused"
)
def test_a_mounted_file_is_neither_read_nor_replaced_nor_deleted(tmp_path: Path) -> None:
    refused, read = run("bound_file", tmp_path)
    assert refused == {
        **dict.fromkeys(("read", "digest", "replace"), "outside"),
        **dict.fromkeys(("overwrite", "delete"), "denied"),
        "create": "exists",
        "sweep": None,
        "directory": "not_a_directory",
        "entries": [[], 1, True],
    }
    assert read == SECRET.decode()


@pytest.mark.rule("H4", "H6")
@pytest.mark.fault(
    "workspace", "The disk fills up during a write", "The call raises a system error and leaves no partial file"
)
def test_a_write_without_space_leaves_what_was_there(tmp_path: Path) -> None:
    assert run("full", tmp_path) == [3, ["no_space", True], ["no_space", True], ["old"]]


@pytest.mark.rule("H6")
@pytest.mark.fault("workspace", "The file system is read-only", "The call raises a system error")
def test_a_read_only_file_system_is_a_failure_of_the_system(tmp_path: Path) -> None:
    assert run("read_only", tmp_path) == ["read_only"] * 4


@pytest.mark.rule("H3")
@pytest.mark.fault(
    "workspace",
    "`/proc` does not exist, so that mounts cannot be listed",
    "The adapter distinguishes file systems by their device numbers",
)
def test_without_proc_mounts_are_told_apart_by_their_devices(tmp_path: Path) -> None:
    assert run("without_proc", tmp_path) == ["near", "outside"]
