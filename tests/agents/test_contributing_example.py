"""Install and run the example agent from CONTRIBUTING.md without changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codex_adapter import RunRequest, UnsupportedCapabilityError, collect, open_run

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the example on the path, as if it were installed."""
    text = PAGE.read_text()
    program, entry = (
        re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) for language in ("python", "toml")
    )
    (tmp_path / "greeter.py").write_text(program[0])
    (group, name, module) = re.findall(r'"(codex_adapter\.agents)"\]\n(\w+) = "(\S+)"', entry[0])[0]
    metadata = tmp_path / "greeter-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.rule("AG5", "P12")
async def test_the_agent_of_the_page_runs() -> None:
    request = RunRequest(prompt='echo "Hello, $MY_TOKEN."\necho Bye.', env={"MY_TOKEN": "correct-horse-battery"})
    async with open_run(request, agent="greeter") as run:
        said = [event.text async for event in run.events]
        completion = await run.wait_completed()
    assert said == ["Hello, ***.", "Bye."]
    assert (completion.ok, completion.final_text) == (True, "Bye.")


@pytest.mark.rule("AG5", "Q2")
async def test_what_the_agent_of_the_page_does_not_know_is_refused() -> None:
    with pytest.raises(UnsupportedCapabilityError):
        await collect(RunRequest(prompt="x", extensions={"backend.greeter.volume": 1}), agent="greeter")
