"""Define cases of the other tools: plans, MCP, web search, sub-agents."""

from __future__ import annotations

from codex_adapter.testing.mcp_config import mcp_config
from codex_adapter.testing.scenario import (
    AgentCall,
    Answer,
    McpCall,
    Plan,
    PlanStep,
    RawItem,
    Route,
    WebSearch,
    answer,
    script,
)

from .case import Case, Run

__all__ = ["CASES"]

SERVER = "srv"
PLAN_ON = "tools.update_plan = { enabled = true }\n"
PARENT = "SPAWN-PARENT"
NOT_THE_PARENT = rf"\A(?!(?s:.*){PARENT})"

BEGUN = Plan((PlanStep("one", "in_progress"), PlanStep("two")))
MIDWAY = Plan((PlanStep("one"), PlanStep("two", "in_progress")))
FINISHED = Plan((PlanStep("one", "completed"), PlanStep("two", "completed")))

CHILD_REFUSED = Answer(status=400, body={"error": {"message": "not for children"}}, delay=0.5)
PAGE = "https://example.com/"

CASES = (
    Case(
        name="plan",
        about="A plan that is made, changed and finished.",
        scenario=script(BEGUN, MIDWAY, FINISHED, "Done."),
        config=PLAN_ON,
    ),
    Case(
        name="plan_unfinished",
        about="A plan that the turn leaves unfinished.",
        scenario=script(BEGUN, "Done."),
        config=PLAN_ON,
    ),
    Case(
        name="mcp",
        about="MCP tools that answer, fail, break, and answer in each form; and one that is not there.",
        scenario=script(
            McpCall(SERVER, "echo", {"text": "hi"}),
            McpCall(SERVER, "fail"),
            McpCall(SERVER, "rpcerror"),
            McpCall(SERVER, "structured"),
            McpCall(SERVER, "image"),
            McpCall(SERVER, "nope"),
            "Done.",
        ),
        config=mcp_config(SERVER),
    ),
    Case(
        name="mcp_destructive",
        about="An MCP tool that would need approval.",
        scenario=script(McpCall(SERVER, "destructive"), "Done."),
        config=mcp_config(SERVER),
    ),
    Case(
        name="mcp_garbage",
        about="An MCP server that prints lines which are no messages.",
        scenario=script(McpCall(SERVER, "echo", {"text": "hi"}), "Done."),
        config=mcp_config(SERVER, mode="garbage"),
    ),
    Case(
        name="mcp_timeout",
        about="An MCP tool that takes longer than it may.",
        scenario=script(McpCall(SERVER, "slow", {"seconds": 3}), "Done."),
        config=mcp_config(SERVER, tool_timeout=1),
    ),
    Case(
        name="mcp_slow",
        about="An MCP tool that takes its time.",
        scenario=script(McpCall(SERVER, "slow", {"seconds": 2}), "Done."),
        config=mcp_config(SERVER),
    ),
    Case(
        name="mcp_large",
        about="An MCP tool that answers with 60,000 characters.",
        scenario=script(McpCall(SERVER, "large", {"size": 60_000}), "Done."),
        config=mcp_config(SERVER),
    ),
    Case(
        name="mcp_two",
        about="Tools of two MCP servers, called at once.",
        scenario=script(
            answer(McpCall(SERVER, "echo", {"text": "a"}), McpCall("other", "echo", {"text": "b"})), "Done."
        ),
        config=mcp_config(SERVER) + mcp_config("other"),
    ),
    Case(
        name="mcp_exits",
        about="An MCP server that exits in the middle of a call.",
        scenario=script(McpCall(SERVER, "exit"), "Done."),
        config=mcp_config(SERVER, tool_timeout=3),
    ),
    Case(
        name="mcp_dies",
        about="An MCP server that exits as soon as it is started.",
        scenario=script("Done."),
        config=mcp_config(SERVER, mode="die"),
    ),
    Case(
        name="web_search",
        about="Web searches of every kind.",
        scenario=script(
            answer(
                WebSearch({"type": "search", "query": "codex cli"}),
                WebSearch({"type": "open_page", "url": PAGE}),
                WebSearch({"type": "find_in_page", "url": PAGE, "pattern": "abc"}),
                WebSearch({"type": "search", "queries": ["q1", "q2"]}),
                WebSearch({"type": "of_tomorrow"}),
                WebSearch(),
                RawItem(
                    {
                        "type": "web_search_call",
                        "id": "ws_failed",
                        "status": "failed",
                        "action": {"type": "search", "query": "f"},
                    }
                ),
                "found",
            )
        ),
    ),
    Case(
        name="collab",
        about="A sub-agent that is spawned, waited for, given more to do, and closed.",
        scenario=script(
            AgentCall("spawn", "CHILD TASK alpha"),
            AgentCall("wait"),
            AgentCall("send", "CHILD TASK more"),
            AgentCall("wait"),
            AgentCall("close"),
            "parent done",
            routes=(Route(NOT_THE_PARENT, tuple(answer(f"child answer {n}", delay=0.5) for n in range(2))),),
        ),
        runs=(Run(prompt=PARENT),),
        since="0.92.0",
    ),
    Case(
        name="collab_fails",
        about="A sub-agent whose model refuses.",
        scenario=script(
            AgentCall("spawn", "CHILD TASK alpha"),
            AgentCall("wait"),
            "parent done",
            # what a child that fails early has to say can make the parent go on after its last message
            fallback=answer("parent done"),
            routes=(Route(NOT_THE_PARENT, (CHILD_REFUSED,)),),
        ),
        runs=(Run(prompt=PARENT),),
        since="0.92.0",
    ),
    Case(
        name="unknown_tool",
        about="A call of a tool that is not there, and one with arguments that are none.",
        scenario=script(
            RawItem({"type": "function_call", "id": "fc_1", "call_id": "c_1", "name": "no_such", "arguments": "{}"}),
            RawItem({"type": "function_call", "id": "fc_2", "call_id": "c_2", "name": "shell", "arguments": "{"}),
            "Done.",
        ),
    ),
    Case(
        name="unknown_item",
        about="Items that the model's side has and the CLI does not know.",
        scenario=script(answer(RawItem({"type": "item_of_tomorrow", "id": "it_1", "x": 1}), "Done.")),
    ),
)
