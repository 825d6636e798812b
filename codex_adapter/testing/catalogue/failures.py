"""Cases in which the model server, the connection or the configuration fails."""

from __future__ import annotations

from ..scenario import Answer, Shell, answer, script
from .case import Case, Run

__all__ = ["CASES"]


def _refusal(status: int, message: str, code: str | None = None) -> Answer:
    return Answer(status=status, body={"error": {"message": message, "type": "invalid_request_error", "code": code}})


CRASH = {"code": "server_error", "message": "The model crashed"}

CASES = (
    Case(
        name="http_400_model",
        about="A model that the server does not know.",
        scenario=script(
            fallback=_refusal(
                400,
                "The model `mock-model` does not exist or you do not have access to it.",
                "model_not_found",
            )
        ),
    ),
    Case(
        name="http_401",
        about="A key that the server refuses, again and again.",
        scenario=script(fallback=_refusal(401, "Incorrect API key provided: sk-xxx.", "invalid_api_key")),
    ),
    Case(
        name="http_429_once",
        about="A server that is asked too often, once, and says when to come back.",
        scenario=script(
            Answer(status=429, body={"error": {"message": "Rate limit reached"}}, headers={"Retry-After": "0"}),
            "after 429",
        ),
    ),
    Case(
        name="http_429",
        about="A server that is asked too often, and does not say when to come back.",
        scenario=script(fallback=_refusal(429, "Rate limit reached", "rate_limit_exceeded")),
    ),
    Case(
        name="http_500_once",
        about="A server that breaks, once.",
        scenario=script(Answer(status=500, body={"error": {"message": "internal"}}), "after 500"),
    ),
    Case(
        name="fail_after_work",
        about="A server that refuses the second request of a turn.",
        scenario=script(
            answer("working", Shell("echo hi")),
            fallback=Answer(status=400, body={"error": {"message": "bad request now"}}),
        ),
    ),
    Case(
        name="stream_cut_once",
        about="A stream that is cut in the middle of an item, once.",
        scenario=script(answer("lost", cut_after=2), "after the cut"),
    ),
    Case(
        name="stream_end_no_completed",
        about="Streams that end without a terminal event, again and again.",
        scenario=script(fallback=answer("no terminal event", end="none")),
    ),
    Case(
        name="resp_failed",
        about="A model that fails after its message, again and again.",
        scenario=script(fallback=answer("before failing", end="failed", detail=CRASH)),
    ),
    Case(
        name="resp_incomplete",
        about="An answer that is cut off by its limit of tokens.",
        scenario=script(fallback=answer("cut by tokens", end="incomplete", detail={"reason": "max_output_tokens"})),
    ),
    Case(
        name="unknown_config_key",
        about="A configuration with a key that the CLI does not know.",
        scenario=script("Done."),
        config="nonsense_key = 1\n",
    ),
    Case(name="bad_config_toml", about="A configuration that is no TOML.", config="this is = = no TOML\n"),
    Case(name="bad_flag", about="A flag that the CLI does not know.", runs=(Run(arguments=("--no-such-flag",)),)),
    Case(name="bad_sandbox", about="A sandbox that the CLI does not know.", runs=(Run(sandbox="everything"),)),
    Case(
        name="no_git_no_skip",
        about="A workspace that is no git repository, where that matters.",
        runs=(Run(skip_git_check=False),),
    ),
)
