"""Mount files or directories into a workspace in a mount namespace, and print the results of operations.

`python -m tests.workspace.mounted CASE DIRECTORY`, where DIRECTORY contains `root` and `outside`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace, WorkspaceError

from .outside import LIMIT, OPERATIONS, outcome


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def bound_directory(top: Path) -> str:
    (top / "root/x").mkdir()
    mount("--bind", top / "outside", top / "root/x")
    return "x/secret.txt"


def bound_below(top: Path) -> str:
    (top / "root/a/x").mkdir(parents=True)
    mount("--bind", top / "outside", top / "root/a/x")
    (top / "root/l").symlink_to("a/x/inner")
    return "l/secret.txt"


def bound_file(top: Path) -> str:
    (top / "root/x").touch()
    mount("--bind", top / "outside/secret.txt", top / "root/x")
    return "x"


def other_file_system(top: Path) -> str:
    (top / "root/x").mkdir()
    mount("-t", "tmpfs", "none", top / "root/x")
    (top / "root/x/file").write_text("elsewhere")
    return "x/file"


def bound_root(top: Path) -> str:
    (top / "root/x").mkdir()
    mount("--bind", top / "root", top / "root/x")
    (top / "root/file").write_text("inside")
    return "x/file"


def full(top: Path) -> Iterator[object]:
    mount("-t", "tmpfs", "-o", "size=64k", "none", top / "root")
    with Workspace(top / "root", agents=known_places()) as workspace:
        yield workspace.write("old", [b"old"], overwrite=False, limit=LIMIT)
        for overwrite, path in ((True, "old"), (False, "new/file")):
            try:
                workspace.write(path, [b"x" * 4096] * 100, overwrite=overwrite, limit=LIMIT)
            except WorkspaceError as error:
                yield [error.code, error.system]
        yield sorted(path.name for path in (top / "root").rglob("*"))


def read_only(top: Path) -> Iterator[object]:
    (top / "root/old").write_text("old")
    mount("--bind", top / "root", top / "root")
    mount("-o", "remount,bind,ro", top / "root")
    with Workspace(top / "root", agents=known_places()) as workspace:
        for operation in ("create", "overwrite", "replace", "delete"):
            yield outcome(workspace, operation, "new" if operation == "create" else "old")


def without_proc(top: Path) -> Iterator[object]:
    other_file_system(top)
    (top / "root/near").write_text("near")
    mount("-t", "tmpfs", "none", "/proc")
    with Workspace(top / "root", agents=known_places()) as workspace:
        yield workspace.read("near", limit=LIMIT).decode()
        yield outcome(workspace, "read", "x/file")


MOUNTS: dict[str, Callable[[Path], str]] = {
    each.__name__: each for each in (bound_directory, bound_below, bound_file, other_file_system, bound_root)
}
SCENES: dict[str, Callable[[Path], Iterator[object]]] = {
    each.__name__: each for each in (full, read_only, without_proc)
}


def main(case: str, top: Path) -> None:
    if case in SCENES:
        print(json.dumps(list(SCENES[case](top))))
        return
    path = MOUNTS[case](top)
    with Workspace(top / "root", agents=known_places()) as workspace:
        refused = {operation: outcome(workspace, operation, path) for operation in OPERATIONS}
    with Workspace(top / "root", mounts=True, agents=known_places()) as workspace:
        allowed = workspace.read(path, limit=LIMIT).decode()
    print(json.dumps([refused, allowed]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
