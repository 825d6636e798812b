"""Test that a refused request is not repeated in the output of the command."""

from __future__ import annotations

import json
from typing import Final

import pytest

from codex_adapter.testing import ReadPrompt
from tests.widths import thinned

from ..cli.command import Cli
from .leaks import Canary, leaks

REFUSED: Final = {
    "a working directory": (2, "--working-dir", "{}"),
    "a directory": (2, "--add-dir", "{}"),
    "a home": (125, "--codex-home", "{}"),
    "a binary": (127, "--codex", "{}"),
    "an image": (2, "--image", "{}"),
    "the file of a schema": (2, "--output-schema", "{}"),
    "a schema": (2, "--output-schema", "text"),
    "the file of a request": (2, "--request", "{}"),
    "a request": (2, "--request", "text"),
    "a request's field": (2, "--request", "field"),
    "a request's value": (2, "--request", "value"),
    "a model": (2, "--model", "-{}"),
    "a long model": (2, "--model", "{}" * 9),
    "a mode": (2, "--sandbox", "{}"),
    "a policy": (2, "--ask-for-approval", "{}"),
    "a session": (2, "--resume", "-{}"),
    "payloads": (2, "--tool-payloads", "{}"),
    "a time": (2, "--timeout", "{}"),
    "a variable": (2, "--env", "{}"),
    "a variable's value": (2, "--env", "={}"),
    "an extension": (2, "--extension", "{}"),
    "an extension's value": (2, "--extension", 'agent_api.config.model.v1=["{}"]'),
    "an extension's value inside": (2, "--extension", 'agent_api.session.resume.v1={{"selector":"id","{}":"{}"}}'),
    "an unknown extension's value": (2, "--extension", 'a.b="{}"'),
    "an unknown extension's key, after the limit": (2, "--extension", "a." + "b" * 126 + "{}=1"),
    "an option": (2, "--{}", "x"),
    "a prompt too many": (2, "{}", "x"),
}


@pytest.mark.rule("Q2", "Q3", "Q5", "E5", "X2", "S6")
@pytest.mark.parametrize("name", thinned(REFUSED, 3))
def test_a_request_that_is_refused_is_not_repeated(cli: Cli, name: str) -> None:
    canary, prompt = Canary(name), Canary("prompt")
    (cli.directory / "text").write_text(f'{{"{canary.word}": {canary.word}}}')
    (cli.directory / "field").write_text(json.dumps({canary.word: canary.word}))
    (cli.directory / "value").write_text(json.dumps({"timeout": canary.word, "env": canary.word}))
    status, option, value = REFUSED[name]
    words = [word.format(*[canary.word] * 9) for word in (option, value)]
    cli.env["CODEX_BINARY"] = cli.agent(ReadPrompt())
    done = cli.run("run", *words, f"Look at {prompt.word}.")
    assert done.status == status
    assert leaks(done.stdout + done.stderr.encode(), [canary, prompt]) == []
    assert done.stderr.startswith("codex-adapter: ")
