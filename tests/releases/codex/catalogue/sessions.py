"""Define cases of several runs: sessions that are resumed, forked or missing."""

from __future__ import annotations

from codex_adapter.testing.scenario import Answer, Shell, Usage, answer, script

from .case import FIRST_THREAD, Case, Run

__all__ = ["CASES"]

THREE = script("first", "second", "third")

CASES = (
    Case(
        name="resume_id",
        about="A session that is resumed twice by its id; its tokens are added up, or not, depending on the release.",
        scenario=script(
            answer("first", usage=Usage(100, 10, 20, 2)), answer("second", usage=Usage(1000, 100, 200, 20)), "third"
        ),
        runs=(Run(), Run(name="resume", resume=FIRST_THREAD), Run(name="resume2", resume=FIRST_THREAD)),
    ),
    Case(
        name="resume_last",
        about="A session that is resumed twice as the last one.",
        scenario=THREE,
        runs=(Run(), Run(name="last", resume="last"), Run(name="again", resume="last")),
    ),
    Case(
        name="resume_last_argument",
        about="A session that is resumed as the last one, with the prompt as an argument.",
        scenario=THREE,
        runs=(Run(), Run(name="last", resume="last", prompt="prompt as arg", prompt_by="argument")),
    ),
    Case(
        name="resume_last_none",
        about="The last session is asked for, and there is none.",
        scenario=script("x"),
        runs=(Run(resume="last"),),
    ),
    Case(
        name="resume_unknown",
        about="A session is asked for by an id that nobody has.",
        runs=(Run(resume="01234567-89ab-7def-8123-456789abcdef"),),
    ),
    Case(
        name="resume_badid",
        about="A session is asked for by something that is no id.",
        scenario=script("x"),
        runs=(Run(resume="not-a-uuid"),),
    ),
    Case(
        name="fork",
        about="A session that is forked, and then resumed itself.",
        scenario=THREE,
        runs=(Run(), Run(name="fork", fork=FIRST_THREAD), Run(name="resume_orig", resume=FIRST_THREAD)),
    ),
    Case(
        name="fork_unknown",
        about="A fork of a session by an id that nobody has.",
        scenario=script("x"),
        runs=(Run(fork="01234567-89ab-7def-8123-456789abcdef"),),
    ),
    Case(
        name="fork_badid",
        about="A fork of something that is no id.",
        scenario=script("x"),
        runs=(Run(fork="not-a-uuid"),),
    ),
    Case(
        name="resume_after_failure",
        about="A session whose turn failed, and that is then resumed.",
        scenario=script(Answer(status=400, body={"error": {"message": "no"}}), "now"),
        runs=(Run(), Run(name="resume", resume=FIRST_THREAD)),
    ),
    Case(
        name="resume_after_kill",
        about="A session whose run was killed in a command, and that is then resumed.",
        scenario=script(answer("starting", Shell("echo begin; sleep 30; echo never")), "now"),
        runs=(Run(signal="SIGKILL"), Run(name="resume", resume=FIRST_THREAD)),
    ),
    Case(
        name="resume_schema",
        about="A session that is resumed with an image and a schema.",
        scenario=script("first", "{}"),
        runs=(
            Run(),
            Run(
                name="resume",
                resume=FIRST_THREAD,
                images=("px.png",),
                output_schema={"type": "object", "properties": {}, "required": [], "additionalProperties": False},
            ),
        ),
    ),
)
