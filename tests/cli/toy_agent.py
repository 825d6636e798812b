"""An agent with options of its own, for tests of the command line; it runs as the Codex CLI does."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from codex_adapter.agents.codex.agent import CodexAgent
from codex_adapter.options import Option

__all__ = ["AGENT", "KEY"]

KEY = "backend.toy.colour"


class ToyAgent(CodexAgent):
    """The toy agent."""

    kind = "toy"
    name = "the toy agent"

    @property
    @override
    def options(self) -> Sequence[Option]:
        return (
            Option(key="agent_api.config.model.v1", field="model", names=("--model",), metavar="ID", group="run"),
            Option(field="binary", names=("--toy",), metavar="BINARY", group="run", place="program"),
            Option(key=KEY, schema={"type": "string"}, names=("--colour",), metavar="COLOUR", help="of the toy"),
        )


AGENT = ToyAgent()
