"""Define cases in which the model's answer ends early or reports a failure."""

from __future__ import annotations

from codex_adapter.testing.scenario import Answer, answer, script

from .case import FEW_RETRIES, Case

__all__ = ["CASES"]


def _failed(name: str, about: str, code: str, message: str) -> Case:
    failure = answer(end="failed", detail={"code": code, "message": message})
    return Case(name=name, about=about, scenario=script(fallback=failure), provider=FEW_RETRIES)


CASES = (
    Case(
        name="stream_cut_once",
        about="A stream that is cut in the middle of an item, once.",
        scenario=script(answer("lost", cut_after=2), "after the cut"),
    ),
    Case(
        name="stream_cut",
        about="Streams that are cut in the middle of an item, again and again.",
        scenario=script(fallback=answer("lost", cut_after=2)),
        provider=FEW_RETRIES,
    ),
    Case(
        name="stream_reprinted",
        about="A stream that ends without its last event once, so that its message comes twice.",
        scenario=script(answer("said twice", end="none"), "said twice"),
    ),
    Case(
        name="stream_end_no_completed",
        about="Streams that end without a terminal event, again and again.",
        scenario=script(fallback=answer("no terminal event", end="none")),
    ),
    Case(
        name="stream_garbage",
        about="Events that are no JSON, of no known type, and without what their type needs, among good ones.",
        scenario=script(
            Answer(
                events=(
                    "event: response.created\ndata: {not json\n\n",
                    {"type": "response.of_tomorrow", "x": 1},
                    {"type": "response.output_item.done"},
                    ": a comment\n\n",
                    {
                        "type": "response.output_item.done",
                        "item": {
                            "type": "message",
                            "role": "assistant",
                            "id": "msg_1",
                            "content": [{"type": "output_text", "text": "in spite of it"}],
                        },
                    },
                    {"type": "response.completed", "response": {"id": "resp_1"}},
                )
            )
        ),
    ),
    Case(
        name="resp_failed",
        about="A model that fails after its message, again and again.",
        scenario=script(
            fallback=answer(
                "before failing", end="failed", detail={"code": "server_error", "message": "The model crashed"}
            )
        ),
        provider=FEW_RETRIES,
    ),
    _failed(
        "resp_context",
        "A turn that is too long for the model.",
        "context_length_exceeded",
        "Your input exceeds the context window of this model.",
    ),
    _failed("resp_quota", "An account without money.", "insufficient_quota", "You exceeded your current quota."),
    _failed(
        "resp_rate_limit",
        "A model that is asked too often.",
        "rate_limit_exceeded",
        "Rate limit reached for mock-model. Please try again in 0.1s.",
    ),
    _failed(
        "resp_invalid_prompt",
        "A prompt that the model refuses.",
        "invalid_prompt",
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
    ),
    _failed(
        "resp_overloaded",
        "A model that has too much to do.",
        "server_is_overloaded",
        "Our servers are currently overloaded. Please try again later.",
    ),
    Case(
        name="resp_incomplete",
        about="An answer that is cut off by its limit of tokens.",
        scenario=script(fallback=answer("cut by tokens", end="incomplete", detail={"reason": "max_output_tokens"})),
        provider=FEW_RETRIES,
    ),
    Case(
        name="resp_filtered",
        about="An answer that is cut off for what it says.",
        scenario=script(fallback=answer("cut by the filter", end="incomplete", detail={"reason": "content_filter"})),
        provider=FEW_RETRIES,
    ),
)
