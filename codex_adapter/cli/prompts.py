"""Read the prompt of an agent: an argument with piped input, or all of standard input (C1, C15)."""

from __future__ import annotations

import os

from codex_adapter import BackendError, InvalidRequestError
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.inputs import append_piped_input, read_input

__all__ = ["read_prompt", "require_prompt"]


async def read_prompt(argument: str | None, what: str = "prompt", *, context: bool = True) -> str:
    """Return the text of an argument, or all of standard input if it is `-` or None.

    With `context`, piped standard input is appended to an argument. Raise `UsageError` if the text is missing and
    standard input is a terminal, `InvalidRequestError` for an invalid text, and `BackendError` for a shortage.
    """
    if argument is None and os.isatty(0):
        raise UsageError(f"The {what} is missing. Specify it as an argument, or pipe it to standard input")
    if argument is not None and argument != "-":
        try:
            return await append_piped_input(argument) if context else argument
        except OSError as error:
            advice = "The system has too few resources to read standard input. Raise its limits, or try again later."
            raise BackendError("io", advice=advice) from error
    try:
        return (await read_input("-")).decode()
    except OSError:
        raise InvalidRequestError(
            f"The {what} cannot be read: standard input returns an error. Pass the {what} as an argument."
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{what} must be UTF-8, but it is not at byte {error.start}") from None


async def require_prompt(argument: str | None, what: str = "prompt", *, context: bool = True) -> str:
    """Return a text like `read_prompt`, and require more than white space.

    Raise `UsageError`, and OSError for a shortage.
    """
    try:
        text = await read_prompt(argument, what, context=context)
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"The {what} must be UTF-8") from None
    except InvalidRequestError as error:
        text = str(error)
        raise UsageError(f"The {text}" if text.startswith(what) else text) from None
    except BackendError as error:
        raise (error.__cause__ or error) from None
    if not text.strip() or "\0" in text:
        raise UsageError(f"The {what} must be a non-empty text without NUL. Describe the task of the agent")
    return text
