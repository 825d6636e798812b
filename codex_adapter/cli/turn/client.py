"""Open the client of turns, which needs packages of an extra, and format its errors (C13, C14)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from codex_adapter import UnsupportedCapabilityError
from codex_adapter.agent import Agent
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.option_names import name_time_limits
from codex_adapter.cli.present.lines import printable
from codex_adapter.extras import how_to_install
from codex_adapter.protocols.turns import AgentSpacesError, RunTurnResponse
from codex_adapter.request import RunConfig

if TYPE_CHECKING:
    from codex_adapter.harness import Harness
    from codex_adapter.protocols.turns import AgentSpacesClient

__all__ = ["error_text", "failure_text", "open_client"]

_EXTRA: Final = ("httpx2", "semantic_version", "tomli_w", "yaml")
_OPTIONS: Final = {
    "harnessSessionId": "--session",
    "aspHome": "--asp-home",
    "acceptChangedSpaces": "--accept-changed-spaces",
    "cwd": "--cwd",
    "targetDir": "--target-dir",
    "targetName": "--target",
}
_ATTACHMENT: Final = re.compile(r"^attachments\[([0-9]+)\]")
_MEMBER: Final = re.compile(rf"(?<![\w/'-])({'|'.join(_OPTIONS)})(?![\w/-])")


def open_client(configs: Sequence[tuple[Agent, RunConfig]]) -> AgentSpacesClient:
    """Return a client with the harnesses of these agents. Raise `UsageError` if a package is missing."""
    if any(find_spec(name) is None for name in _EXTRA):
        raise UsageError(f"Packages for turns are missing. {how_to_install('turns')}")
    from codex_adapter.protocols.turns import create_agent_spaces_client  # noqa: PLC0415 - see above

    harnesses: list[Harness] = []
    for agent, config in configs:
        with suppress(UnsupportedCapabilityError):
            harnesses.append(agent.harness(config))
    return create_agent_spaces_client(harnesses)


def error_text(error: AgentSpacesError) -> str:
    """Return the text of an error in one line, with options in place of the members of a request (U6)."""
    text = name_time_limits(" ".join(printable(error.message).split()))
    text = _ATTACHMENT.sub(lambda number: f"--attach: number {int(number[1]) + 1}", text)
    return _MEMBER.sub(lambda member: _OPTIONS[member[1]], text)


async def failure_text(response: RunTurnResponse, client: AgentSpacesClient) -> str | None:
    """Return why a turn failed, in one line; None for success. After a refused model, add the available models."""
    error = response.result.error
    if error is None or error.code != "model_not_supported":
        return None if error is None else error_text(error)
    harnesses = (await client.get_harness_capabilities()).harnesses
    names = [name for harness in harnesses if harness.id == response.harness for name in harness.models]
    models = f"Available models: {', '.join(map(printable, names))}." if names else "Its release lists no models."
    return f"{error_text(error).rstrip('.')}. {models}"
