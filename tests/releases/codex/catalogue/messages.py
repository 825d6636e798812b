"""Define cases in which the model writes messages and reasoning, with their token usage."""

from __future__ import annotations

from codex_adapter.testing.scenario import Answer, RawItem, Reasoning, Shell, Usage, answer, script

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
        about="100 thoughts and 30 commands at once in one answer.",
        scenario=script(
            answer(*(Reasoning((f"**T{n}**",)) for n in range(100)), *(Shell(f"echo {n}") for n in range(30))), "Done."
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
        name="image_two",
        about="A prompt with two images.",
        scenario=script("Done."),
        runs=(Run(images=("px.png", "px2.png")),),
    ),
    Case(
        name="image_bad",
        about="A prompt with an image that is none.",
        scenario=script("Done."),
        runs=(Run(images=("bad.png",)),),
        files={"bad.png": "no image"},
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
        name="long_message",
        about="A message of more than an event can hold.",
        scenario=script("".join(f"{n:06} é\n" for n in range(10_000))),
    ),
    Case(
        name="odd_message",
        about="A message with line ends and characters of every kind.",
        scenario=script('a\u2028b\u2029c\x85d\r\ne\x00\x7f\x1b[31mf\ufeff\ufffe\U0001f600 ${HOME} \\ "g"'),
    ),
    Case(
        name="refusal",
        about="A message in which the model refuses, and nothing else.",
        scenario=script(
            RawItem(
                {
                    "type": "message",
                    "id": "msg_refusal",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "refusal", "refusal": "I will not."}],
                }
            )
        ),
    ),
    Case(
        name="rerouted",
        about="A server that says that another model has answered.",
        scenario=script(answer("Done.", headers={"openai-model": "another-model"})),
    ),
    Case(
        name="slow_answer",
        about="A model that takes its time, before its answer and within it.",
        scenario=script(answer(Reasoning(("**Slow**",)), "Done.", delay=1.0, gap=0.3, linger=0.3)),
    ),
)
