"""Encode what the CLI receives on standard input: the prompt, answers to its questions, the request to end (AG9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from codex_adapter.agents.claude.stream.lines import ControlRequest

__all__ = ["INTERRUPT", "answer_to", "encode_prompt"]

_DENIAL: Final = (
    "Permission denied. This run is unattended, so no person can grant permissions, and asking again has the same "
    "result. Continue without this action, and report at the end that it was denied."
)
_NO_PERSON: Final = (
    "This run is unattended, so no person can answer. Decide yourself, continue, and report your decision at the end."
)


def encode_prompt(prompt: str, images: Sequence[str] = ()) -> bytes:
    """Return the line with the prompt of a run. The CLI replaces the path of an image with the image.

    A prompt that begins with a slash would be a command of the CLI, such as `/login`, and not reach the model (Q1).
    """
    content = "\n" * prompt.startswith("/") + prompt + "".join(f'\n@"{image}"' for image in images)
    return _line({"type": "user", "message": {"role": "user", "content": content}})


def answer_to(line: ControlRequest) -> bytes:
    """Return the line that denies a permission, or refuses any other request.

    The CLI asks only for actions that neither the sandbox mode nor the user's rules allow.
    """
    if line.request.subtype != "can_use_tool":
        return _response({"subtype": "error", "request_id": line.request_id, "error": "not supported"})
    message = _NO_PERSON if line.request.requires_user_interaction else _DENIAL
    denial = {"behavior": "deny", "message": message}
    return _response({"subtype": "success", "request_id": line.request_id, "response": denial})


def _response(response: dict[str, Any]) -> bytes:
    return _line({"type": "control_response", "response": response})


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


INTERRUPT: Final = _line({"type": "control_request", "request_id": "end", "request": {"subtype": "interrupt"}})
"""The request to stop the turn: the CLI ends its commands and prints the result of the turn."""
