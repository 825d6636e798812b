"""Cases in which the model talks and thinks, and what it costs."""

from __future__ import annotations

from ..scenario import Answer, Reasoning, Shell, Usage, answer, script
from .case import Case, Run

__all__ = ["CASES"]

SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}, "ok": {"type": "boolean"}},
    "required": ["summary", "ok"],
    "additionalProperties": False,
}

CASES = (
    Case(name="message", about="One message.", scenario=script("Hello from the model.")),
    Case(
        name="multi_message",
        about="Several messages in a turn, before and after a command.",
        scenario=script(
            answer("First.", "Second.", Shell("echo one")), answer("Third.", Reasoning(("**Thought**",)), "Fourth.")
        ),
    ),
    Case(name="empty_message", about="A message without any text.", scenario=script("")),
    Case(name="empty_response", about="A turn in which the model says nothing at all.", scenario=script(Answer())),
    Case(
        name="deltas",
        about="Text that the model streams in pieces.",
        scenario=script(
            answer(
                Reasoning(("**Planning** the work\n\nlonger text here",)),
                "This is a streamed answer, in several pieces.",
                pieces=10,
            )
        ),
    ),
    Case(
        name="reasoning",
        about="Thoughts of one part and of two, and one with its raw text.",
        scenario=script(
            answer(
                Reasoning(("**One**", "**Two**\n\nbody two")),
                Reasoning(("**With raw**",), raw="the raw chain of thought"),
                "ok",
            )
        ),
    ),
    Case(
        name="long_turn",
        about="A turn of 26 model requests.",
        scenario=script(*(answer(f"step {n}", Shell(f"echo {n}")) for n in range(25)), "Done."),
    ),
    Case(
        name="many_items",
        about="200 thoughts and 60 commands at once in one answer.",
        scenario=script(
            answer(*(Reasoning((f"**T{n}**",)) for n in range(200)), *(Shell(f"echo {n}") for n in range(60))), "Done."
        ),
    ),
    Case(
        name="usage_multi",
        about="Three requests whose tokens are to be added up.",
        scenario=script(
            answer(Shell("true"), usage=Usage(100, 10, 20, 2)),
            answer(Shell("true"), usage=Usage(1000, 100, 200, 20)),
            answer("Done.", usage=Usage(10000, 1000, 2000, 200)),
        ),
    ),
    Case(name="usage_none", about="A server that tells no tokens.", scenario=script(answer("Done.", usage=None))),
    Case(
        name="image",
        about="A prompt with an image.",
        scenario=script("Done."),
        runs=(Run(images=("px.png",)),),
    ),
    Case(
        name="output_schema",
        about="An answer in the form of a JSON Schema.",
        scenario=script('{"summary":"s","ok":true}'),
        runs=(Run(output_schema=SCHEMA),),
    ),
    Case(
        name="output_last",
        about="The last message is also written to a file.",
        scenario=script(answer("first", Shell("true")), "the very last message"),
        runs=(Run(arguments=("--output-last-message", "last.txt")),),
    ),
    Case(
        name="prompt_arg_and_stdin",
        about="A prompt as an argument, with more of it on standard input.",
        scenario=script("Done."),
        runs=(Run(prompt="arg prompt", prompt_by="both"),),
    ),
    Case(name="empty_prompt", about="No prompt at all.", runs=(Run(prompt=""),)),
)
