"""Put the options of `run` in the place of the keys and fields that they set, in texts for a person (E5)."""

from __future__ import annotations

import argparse
import re
from typing import Final

from codex_adapter.cli.arguments import in_our_words

__all__ = ["KEYS", "in_options"]

KEYS: Final = {
    "model": "agent_api.config.model.v1",
    "sandbox": "backend.codex.exec.sandbox_mode",
    "trust_project": "backend.codex.exec.trust_project",
    "ask_for_approval": "backend.codex.exec.approval_policy",
    "interactive": "agent_api.exec.non_interactive",
    "add_dir": "agent_api.exec.add_dirs.v1",
    "image": "backend.codex.images",
    "output_schema": "backend.codex.output_schema",
    "resume": "agent_api.session.resume.v1",
    "fork": "agent_api.session.fork.v1",
    "tool_payloads": "backend.codex.tool_payloads",
    "config": "backend.codex.settings",
}
"""The extension key that each option sets, by the option's attribute."""
_ATTRIBUTES: Final = {key: attribute for attribute, key in KEYS.items()}
_MERGED: Final = frozenset({"add_dir", "image", "config", "env"})
"""The options that add to what a request file has of the same: the error may be about either."""
_KEY: Final = re.compile(rf"({'|'.join(map(re.escape, _ATTRIBUTES))})(?::? dirs)?(?:\[(\d+)\])?(?:: id)?(?![\w.])")
_FIELD: Final = re.compile(r"\A(working_dir|timeout|env)(?=:? )")


def in_options(message: str, options: argparse.Namespace) -> str:
    """Return a message with options in the place of keys and fields.

    What the message is about keeps its name where no option has set it, since the caller wrote that name; what it says
    to use is an option always.
    """
    message = message.replace(f"unless {KEYS['interactive']} is false", "unless --interactive is given")

    subject = message.partition("; use ")[0]

    def option(found: re.Match[str]) -> str:
        name = found[1]
        attribute = _ATTRIBUTES.get(name, name)
        merged = options.request is not None and attribute in _MERGED
        if found.end() <= len(subject) and (merged or getattr(options, attribute) is None):
            return found[0]
        number = found[2] if found.re is _KEY else None
        item = "" if number is None else f": number {int(number) + 1}"
        return f"--{attribute.replace('_', '-')}{item}"

    message = _FIELD.sub(option, _KEY.sub(option, message))
    return in_our_words(message)
