"""Define cases in which the model server refuses a request or does not exist."""

from __future__ import annotations

from codex_adapter.testing.scenario import Answer, Shell, answer, script

from .case import FEW_RETRIES, Case

__all__ = ["CASES"]


def _refusal(status: int, message: str, code: str | None = None, kind: str = "invalid_request_error") -> Answer:
    return Answer(status=status, body={"error": {"message": message, "type": kind, "code": code}})


def _refused(name: str, about: str, refusal: Answer) -> Case:
    return Case(name=name, about=about, scenario=script(fallback=refusal), provider=FEW_RETRIES)


USAGE_LIMIT = Answer(
    status=429,
    body={
        "error": {
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "plus",
            "resets_in_seconds": 3600,
        }
    },
)

CASES = (
    _refused(
        "http_400_model",
        "A model that the server does not know.",
        _refusal(400, "The model `mock-model` does not exist or you do not have access to it.", "model_not_found"),
    ),
    _refused(
        "http_400_context",
        "A request that is too long for the model, as a refusal.",
        _refusal(400, "Your input exceeds the context window of this model.", "context_length_exceeded"),
    ),
    Case(
        name="http_401",
        about="A key that the server refuses, again and again.",
        scenario=script(fallback=_refusal(401, "Incorrect API key provided: sk-xxx.", "invalid_api_key")),
    ),
    _refused("http_403", "Something that this account may not do.", _refusal(403, "Country not supported")),
    _refused("http_404", "A server that has no such place.", _refusal(404, "Not found")),
    _refused("http_413", "A request that is too large for the server.", _refusal(413, "Payload too large")),
    Case(
        name="http_429_once",
        about="A server that is asked too often, once, and says when to come back.",
        scenario=script(
            Answer(status=429, body={"error": {"message": "Rate limit reached"}}, headers={"Retry-After": "0"}),
            "after 429",
        ),
    ),
    _refused(
        "http_429",
        "A server that is asked too often, and does not say when to come back.",
        _refusal(429, "Rate limit reached", "rate_limit_exceeded"),
    ),
    _refused("http_429_usage_limit", "An account whose use is used up for now.", USAGE_LIMIT),
    _refused(
        "http_429_quota",
        "An account without money.",
        _refusal(429, "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
    ),
    Case(
        name="http_500_once",
        about="A server that breaks, once.",
        scenario=script(Answer(status=500, body={"error": {"message": "internal"}}), "after 500"),
    ),
    _refused("http_500", "A server that breaks, again and again.", _refusal(500, "internal", kind="server_error")),
    _refused("http_503", "A server that is not to be had, again and again.", _refusal(503, "overloaded")),
    _refused("http_html", "Something between that answers with a page.", Answer(status=502, body="<html>Bad Gateway")),
    Case(
        name="fail_after_work",
        about="A server that refuses the second request of a turn.",
        scenario=script(
            answer("working", Shell("echo hi")),
            fallback=Answer(status=400, body={"error": {"message": "bad request now"}}),
        ),
    ),
    Case(
        name="unreachable",
        about="A server that is not there; newer releases wait for it without end.",
        provider=FEW_RETRIES,
        unreachable=True,
    ),
)
