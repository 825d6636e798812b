"""The model of the pages: what it answers to the prompts that they show."""

from __future__ import annotations

from typing import Final

from codex_adapter.testing import Answer, Reasoning, Route, Scenario, Shell, answer

__all__ = ["MODEL"]

NOTES: Final = """{"protocolVersion":"1.0","operations":[
{"type":"createFile","id":"notes","path":"notes.txt","content":"count.py counts words.\\n"},
{"type":"shell","id":"clean","command":"rm -rf build"}]}"""
NOTED: Final = '{"protocolVersion":"1.0","operations":[{"type":"message","content":"The notes are in notes.txt."}]}'
TALKS: Final[dict[str, tuple[Answer, ...]]] = {
    # a regular expression for the body of a request: answers in their order, the last one repeated
    "Wait for a server": (answer(Shell("sleep 600")),),
    "createFile": (answer(NOTES), answer(NOTED)),
    "=== PROTOCOL ===": (answer("[DONE]\nAll tests pass.\n[/DONE]"),),
    "Print the token": (answer("It is correct-horse-battery-staple."),),
    "Print the codename": (answer("It is purple-elephant-parade."),),
    "Give your verdict": (answer('{"approve": true, "reason": "It is small and has a test."}'),),
    "without a login": (Answer(status=401, body={"error": {"message": "no key", "code": "invalid_api_key"}}),),
    '"(custom_tool_call_output|function_call_output)"': (
        answer("It counts the words of a text: `count.py` reads standard input and prints the number."),
    ),
}
MODEL: Final = Scenario(
    routes=tuple(Route(match, answers) for match, answers in TALKS.items()),
    fallback=answer(Reasoning(("Look around first.",)), Shell("ls")),
)
"""A model that looks at the files, and then says what the project does, unless `TALKS` has something else for it."""
