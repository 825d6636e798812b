"""Run the blocks of one page in their order, as one script, in a home and a workspace of their own (DC8)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.testing import ModelServer

from .model import MODEL
from .pages import ROOT, Block
from .stubs import write_stubs

__all__ = ["PROGRAMS", "Ran", "run_page"]

PROGRAMS: Final = {
    "python": "python {file}",
    "js": "node {file}",
    "ts": "node {file}",
    "go": "go run {file}",
}
"""The languages of whole programs, and the command that runs one. Our TypeScript is JavaScript, too."""
SUFFIXES: Final = {"python": "py", "js": "mjs", "ts": "mjs", "go": "go"}
OF_THE_MACHINE: Final = (
    "/home/me",
    "/opt/codex-adapter",
    "/etc/",
    "/run/codex-adapter",
    "/tmp/codex-next",
)
"""Places that pages name; in a test they are below its own directory."""
NO_RETRIES: Final = {"request_max_retries": 0, "stream_max_retries": 0}
LONGEST: Final = 500.0
"""Seconds that a page may take."""
WHEELS: Final = "/home/me/.venv/lib/python3/site-packages"
TERMINAL: Final = Path(__file__).with_name("terminal.py")


class Ran(NamedTuple):
    """What came of a page: status and errors of the script, and what each block printed, by its line."""

    status: int
    stderr: str
    printed: dict[int, str]


def _yaml_commands(text: str) -> Iterator[str]:
    """Yield the commands of a workflow: each `run` of a step, each `script` of a job."""
    found: list[Any] = [yaml.safe_load(text)]
    while found:
        it = found.pop(0)
        if isinstance(it, dict):
            for key, value in it.items():
                if key == "run" and isinstance(value, str):
                    yield value
                elif key == "script" and isinstance(value, list):
                    yield from value
                else:
                    found.append(value)
        elif isinstance(it, list):
            found += it


def _commands(block: Block, blocks: list[Block]) -> list[str]:
    """Return what the script does for a block; a program that a later command names is only written."""
    if block.language == "sh" and block.file is None:
        return [block.text]
    if block.language == "yaml":
        return list(_yaml_commands(block.text))
    if block.language == "dockerfile":
        lines = block.text.replace("\\\n", " ").splitlines()
        return [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]
    if block.language not in PROGRAMS:
        return []
    name = block.file or f"block-{block.line}.{SUFFIXES[block.language]}"
    if any(other.language in ("sh", "yaml") and name in other.text for other in blocks if other is not block):
        return []
    return [PROGRAMS[block.language].format(file=name)]


def _script(blocks: list[Block], outputs: Path) -> Iterator[str]:
    yield "exec 3>&1 4>&2"
    for block in blocks:
        commands = [] if block.mark in ("checked by", "figure") or block.output else _commands(block, blocks)
        if commands == []:
            continue
        yield f"echo {shlex.quote(block.where)} >{shlex.quote(str(outputs / 'now'))}"
        yield f"exec >{shlex.quote(str(outputs / str(block.line)))} 2>&1"
        text = "\n".join(commands)
        if block.mark == "terminal":
            # By a variable: the path of the checkout may begin as a place that pages name.
            text = f'python "$TERMINAL" {shlex.join([text, *([block.value] if block.value else [])])}'
        if block.mark == "exits":
            yield f"set +e +o pipefail\n{text}\nstatus=$?"
            yield f"[ $status = {block.value} ] || exit $((status ? status : 99))"
        else:
            yield f"set -e -o pipefail\n{text}"
        yield "exec >&3 2>&4"


def _as_of_a_reader(text: str, directory: Path) -> str:
    text = text.replace(f"{directory}/", "/").replace(sysconfig.get_path("purelib"), WHEELS)
    return re.sub(r"…[\w./-]*/home/me", "/home/me", text)


def run_page(blocks: list[Block], directory: Path) -> Ran:
    """Run a page below this directory, with a scripted model, and return what came of it."""
    home, outputs = directory / "home" / "me", directory / "outputs"
    workspace = home / "src" / "app"
    for path in (workspace, outputs, directory / "etc" / "systemd" / "system", directory / "run", directory / "tmp"):
        path.mkdir(parents=True)
    write_stubs(directory / "bin")
    binary = find_binary(CodexConfig(), os.environ).path
    (directory / "bin" / "codex").symlink_to(binary)
    (workspace / "count.py").write_text("import sys\n\nprint(len(sys.stdin.read().split()))\n")
    for name in ("contrib", "examples", "fixtures", "clients"):
        (workspace / name).symlink_to(ROOT / name)

    subprocess.run(["git", "init", "-q", str(workspace)], check=True, timeout=60)
    for module in blocks[0].page.parent.glob("*.mjs"):
        (workspace / module.name).symlink_to(module)  # a program imports what is beside its page

    def placed(text: str) -> str:
        for place in OF_THE_MACHINE:
            text = re.sub(rf"(?<![\w./$~]){place}", f"{directory}{place}", text)
        return text

    for block in blocks:
        if block.file is not None and not block.output:
            file = workspace / placed(block.file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(placed(block.text))
        elif block.language in PROGRAMS:
            (workspace / f"block-{block.line}.{SUFFIXES[block.language]}").write_text(placed(block.text))
    with ModelServer(MODEL) as server:
        env = {
            "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(directory / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "CODEX_API_KEY": "sk-of-the-pages-and-of-nobody",
            "OPENAI_API_KEY": "sk-of-the-pages-and-of-nobody",
            "PYTHONPATH": str(ROOT),
            "NO_PROXY": "127.0.0.1",
            "CODEX_HOME": server.write_codex_home(home / ".codex", model="gpt-5.5", provider=NO_RETRIES),
            "SOCKET": str(directory / "run" / "codex-adapter.sock"),
            "REAL_CODEX": binary,
            "TERMINAL": str(TERMINAL),
            "GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache" / "go-build")),
            "GOTOOLCHAIN": "local",
            "GO111MODULE": "off",
        }
        (directory / "page.sh").write_text(placed("\n".join(_script(blocks, outputs))) + "\n")
        done = subprocess.run(
            ["bash", str(directory / "page.sh")], cwd=workspace, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=LONGEST, check=False,
        )  # fmt: skip
    printed = {
        int(path.name): _as_of_a_reader(path.read_text(), directory)
        for path in outputs.iterdir()
        if path.name.isdecimal()
    }
    now = outputs / "now"
    last = now.read_text().strip() if now.exists() else ""
    said = printed.get(int(last.rpartition(":")[2]), "") if last else ""
    return Ran(done.returncode, f"{last}: {said[-4000:]}{done.stderr[-4000:]}", printed)
