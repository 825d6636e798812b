"""Test the directories of the agents' own files: those that are named have to exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codex_adapter import BackendError, RunRequest
from codex_adapter.agents import agent_of, kinds
from codex_adapter.options import Option

HOMES = [(kind, option) for kind in kinds() for option in agent_of(kind).options if option.place == "home"]
by_agent = pytest.mark.parametrize(("kind", "option"), HOMES, ids=[kind for kind, _ in HOMES])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return tmp_path / "workspace"


async def checked(kind: str, workspace: Path, env: dict[str, str] | None = None, **fields: Any) -> None:
    """Check a run without a start."""
    config = agent_of(kind).config_type(**{"binary": str(workspace.parent / "program"), **fields})
    request = RunRequest(prompt="x", working_dir=str(workspace), env=env or {})
    await agent_of(kind).check(request, config)


def test_every_agent_has_such_a_directory() -> None:
    assert [kind for kind, _ in HOMES] == list(kinds())


@by_agent
@pytest.mark.rule("C22", "F9", "X2")
@pytest.mark.parametrize("named_by", ["configuration", "environment"])
@pytest.mark.parametrize("found", ["nothing", "file"])
@pytest.mark.fault(
    "environment",
    "The directory for an agent's own files, which an option or a variable names, does not exist",
    "The run of any agent is refused with the hint `home_missing`; the directory is not created",
)
async def test_a_directory_that_does_not_exist_is_refused(
    kind: str, option: Option, workspace: Path, named_by: str, found: str
) -> None:
    assert option.field is not None
    assert option.variable is not None
    missing = workspace.parent / "misspelt"
    if found == "file":
        missing.touch()
    by_config = named_by == "configuration"
    fields: dict[str, Any] = {option.field: str(missing)} if by_config else {}
    env = {} if by_config else {option.variable: str(missing)}
    with pytest.raises(BackendError) as caught:
        await checked(kind, workspace, env, **fields)
    assert (caught.value.failure, caught.value.hint) == ("io", "home_missing")
    assert str(caught.value.advice).startswith(f"config.{option.field} or {option.variable} is not a directory. ")
    assert missing.is_file() if found == "file" else not missing.exists()


@by_agent
@pytest.mark.rule("C22")
async def test_a_new_directory_is_accepted(kind: str, option: Option, workspace: Path) -> None:
    assert option.field is not None
    assert option.variable is not None
    new = workspace / "new"
    new.mkdir()
    fields: dict[str, Any] = {option.field: str(new)}
    await checked(kind, workspace, **fields)
    await checked(kind, workspace, {option.variable: "new"})
    await checked(kind, workspace, {option.variable: "", "HOME": str(workspace / "nowhere")})


@by_agent
@pytest.mark.rule("C4")
@pytest.mark.parametrize(("exists", "state"), [(True, "ok"), (False, "failed")])
async def test_the_report_on_an_agent_names_the_directory(
    kind: str, option: Option, workspace: Path, exists: bool, state: str
) -> None:
    assert option.field is not None
    home = workspace if exists else workspace / "misspelt"
    fields: dict[str, Any] = {"binary": str(workspace.parent / "program"), option.field: str(home)}
    config = agent_of(kind).config_type(**fields)
    [finding] = [it for it in (await agent_of(kind).examine(config)).findings if it.subject == "home"]
    assert (finding.state, str(option.variable) in finding.found) == (state, True)
    assert (finding.advice is None) == exists
