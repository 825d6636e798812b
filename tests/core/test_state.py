"""Test the state of a stream through its methods."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from typing_extensions import override

from codex_adapter.core.decoder import Decoded, Decoder
from codex_adapter.core.framing import Line
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.core.state import StreamState
from codex_adapter.events import ExitStatus, Tool, ToolBytes

TOOL = Tool("1", None, None, "other", "start", "running", None, ToolBytes(), None)


class Silent(Decoder):
    """A decoder that has only what every decoder must have."""

    @override
    def decode(self, lines: Sequence[Line]) -> Decoded:
        return Decoded([])


@pytest.mark.rule("M9", "K4")
def test_the_open_tools_of_a_moment_can_be_taken_again() -> None:
    state = StreamState("toy")
    state.tool_opened("1", TOOL)
    then = dict(state.open_tools)
    state.tool_closed("1")
    state.tool_opened("2", TOOL)
    state.replace_tools(then)
    assert list(state.open_tools) == ["1"]
    assert [event.agent_kind for event in state.close_tools()] == ["toy"]
    assert state.open_tools == {}


@pytest.mark.rule("AG3", "AG4")
def test_a_decoder_needs_to_know_nothing_but_lines() -> None:
    pipeline = Pipeline(lambda _: Silent("toy"))
    assert pipeline.receive_data(b"noise\n") == []
    decoder = pipeline.decoder
    decoder.receive_stderr(b"noise")
    decoder.receive_stderr(b"")
    assert (decoder.data_to_send(), decoder.input_open, decoder.session_missing, decoder.hint) == (
        b"",
        False,
        False,
        None,
    )
    assert decoder.interrupt() == b""
    pipeline.state.tool_opened("1", TOOL)
    assert [event.seq for event in pipeline.receive_eof()] == [0]
    for code, failed in ((0, False), (1, True)):
        status = ExitStatus(code=code)
        assert decoder.exit_failed(status) is failed
        assert pipeline.completion(status).hint is None
    assert pipeline.close_tools() == []
