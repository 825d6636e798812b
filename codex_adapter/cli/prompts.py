"""Read what an agent is to do: an argument with what is piped to it, or all of standard input (C1, C15)."""

from __future__ import annotations

import os

from codex_adapter import BackendError, InvalidRequestError
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.inputs import append_piped_input, read_input

__all__ = ["read_prompt", "require_prompt"]


async def read_prompt(argument: str | None, what: str = "prompt", *, context: bool = True) -> str:
    """Return the text of an argument, or all of standard input where it is `-` or None.

    With `context`, what is piped to standard input is appended to an argument. Raises `UsageError` where a person at a
    terminal gives no text, `InvalidRequestError` for what is not a text, and `BackendError` for a shortage.
    """
    if argument is None and os.isatty(0):
        raise UsageError(f"a {what} is missing; give it as an argument, or pipe it to standard input")
    if argument is not None and argument != "-":
        try:
            return await append_piped_input(argument) if context else argument
        except OSError as error:
            advice = "The system has too little left to read standard input. Raise its limits, or try again later."
            raise BackendError("io", advice=advice) from error
    try:
        return (await read_input("-")).decode()
    except OSError:
        raise InvalidRequestError(f"the {what} cannot be read: standard input gives an error") from None
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{what} must be UTF-8, which it is not at byte {error.start}") from None


async def require_prompt(argument: str | None, what: str = "prompt", *, context: bool = True) -> str:
    """Return as `read_prompt` a text with more than white space. Raises `UsageError`, and OSError for a shortage."""
    try:
        text = await read_prompt(argument, what, context=context)
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the {what} must be UTF-8") from None
    except InvalidRequestError as error:
        text = str(error)
        raise UsageError(f"the {text}" if text.startswith(what) else text) from None
    except BackendError as error:
        raise (error.__cause__ or error) from None
    if not text.strip() or "\0" in text:
        raise UsageError(f"the {what} must be a text that is not empty, without NUL; say what the agent is to do")
    return text
