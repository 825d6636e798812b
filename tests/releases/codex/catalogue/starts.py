"""Define cases in which the CLI fails at its start: configuration, flags, prompts."""

from __future__ import annotations

from codex_adapter.testing.mcp_config import mcp_config
from codex_adapter.testing.scenario import script

from .case import FEW_RETRIES, Case, Run

__all__ = ["CASES", "LONGEST_PROMPT"]

LONGEST_PROMPT = 1_048_576
"""Characters of a prompt that releases since 0.116 take."""

CASES = (
    Case(
        name="unknown_config_key",
        about="A configuration with a key that the CLI does not know.",
        scenario=script("Done."),
        config="nonsense_key = 1\n",
    ),
    Case(name="bad_config_toml", about="A configuration that is no TOML.", config="this is = = no TOML\n"),
    Case(name="bad_config_type", about="A setting of a wrong type.", config="sandbox_mode = 17\n"),
    Case(
        name="unknown_provider",
        about="A model provider that the configuration does not define.",
        config='model_provider = "nobody"\n',
    ),
    Case(
        name="wire_api_chat",
        about="A model provider of the older kind, which newer releases know no more.",
        provider={"wire_api": "chat", **FEW_RETRIES},
    ),
    Case(
        name="env_key_missing",
        about="A model provider whose key is to be in a variable that is not set.",
        provider={"env_key": "SCRIPTED_API_KEY", **FEW_RETRIES},
    ),
    Case(
        name="mcp_required_dies",
        about="An MCP server that must be there, and exits as soon as it is started.",
        scenario=script("Done."),
        config=mcp_config("srv", mode="die", required=True),
    ),
    Case(
        name="prompt_longest",
        about="A prompt of as many characters as the CLI takes.",
        scenario=script("Done."),
        runs=(Run(prompt="x" * LONGEST_PROMPT),),
    ),
    Case(
        name="prompt_too_long",
        about="A prompt of one character more than newer releases take.",
        scenario=script("Done."),
        runs=(Run(prompt="x" * (LONGEST_PROMPT + 1)),),
    ),
    Case(
        name="prompt_odd",
        about="A prompt with line ends and characters of every kind.",
        scenario=script("Done."),
        runs=(Run(prompt="\ufeff höher\r\n\u2028\x00\x1b[31m'\"$(x)`\n\U0001f600 "),),
    ),
    Case(
        name="prompt_arg_and_stdin",
        about="A prompt as an argument, with more of it on standard input.",
        scenario=script("Done."),
        runs=(Run(prompt="arg prompt", prompt_by="both"),),
    ),
    Case(name="empty_prompt", about="No prompt at all.", runs=(Run(prompt=""),)),
    Case(name="bad_flag", about="A flag that the CLI does not know.", runs=(Run(arguments=("--no-such-flag",)),)),
    Case(name="bad_sandbox", about="A sandbox that the CLI does not know.", runs=(Run(sandbox="everything"),)),
    Case(
        name="no_git_no_skip",
        about="A workspace that is no git repository, where that matters.",
        runs=(Run(skip_git_check=False),),
    ),
)
