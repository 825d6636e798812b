"""Read the options of `run` into a request and a configuration (C6)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from codex_adapter import InvalidRequestError, RunRequest
from codex_adapter.agent import Agent
from codex_adapter.cli.agent_options import (
    add_agent_kind,
    add_agent_options,
    add_backend_options,
    convert_words,
    find_agents,
    read_environment,
    run_config,
)
from codex_adapter.cli.arguments import Once, Parser, form_of_a_run
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.inputs import decode_json, read_input
from codex_adapter.cli.logs import add_log_option
from codex_adapter.cli.prompts import read_prompt
from codex_adapter.options import Option, override
from codex_adapter.request import RunConfig

__all__ = ["add_options", "read_request"]

_FIELDS: Final = frozenset(RunRequest.__struct_fields__)
_NO_PROMPT: Final = (
    "No prompt was passed, or it is blank. Pass it as an argument, on standard input, or as `prompt` in the file of "
    "--request."
)


def add_options(parser: Parser, words: Sequence[str]) -> None:
    """Add the prompt and the options of `run`, with the options of the agent that the command line names."""
    agents = find_agents(words)
    add = parser.add_argument
    add("prompt", nargs="?", metavar="PROMPT", help="the task of the agent; standard input if it is - or missing")
    run = parser.add_argument_group("the run")
    run.add_argument("--working-dir", action=Once, metavar="DIR", help="where the agent works (default: here)")
    add_backend_options(run, agents)
    agent = parser.add_argument_group("the agent")
    add_agent_kind(agent)
    add_agent_options(agent, agents, "agent")
    records = parser.add_argument_group("the request and the records")
    add = records.add_argument
    whole = "a request as JSON; - for standard input; options override its fields"
    add("--request", action=Once, metavar="FILE", help=whole)
    add("--extension", action="append", metavar="KEY=JSON", help="an extension key of the request; repeatable")
    add_agent_options(records, agents, "records")
    add(
        "--format",
        action=Once,
        type=form_of_a_run,
        metavar="FORMAT",
        help="jsonl, pretty, or text for the final text alone (default: pretty on a terminal, else jsonl)",
    )
    add("--last-message", action=Once, metavar="FILE", help="also write the final text to this file")
    add_log_option(parser)
    add("--quiet", action="store_true", help="do not report on standard error why a run failed")


async def read_request(options: argparse.Namespace, agent: Agent) -> tuple[RunRequest, RunConfig]:
    """Return the request of the options, the request file and standard input (C1, C6).

    Options override the same fields of the request file, or add to them. The run checks the request itself. Raise
    `UsageError` and `InvalidRequestError`.
    """
    env, entries = read_environment(options.env or ()), _extension_entries(options.extension or ())
    named = _options_by_name(options, agent.options, entries)
    extensions = entries | {str(option.key): _value(option, options) for option in named if option.takes != "json_file"}
    if options.request is not None and options.request == options.prompt == "-":
        raise UsageError("--request and the prompt cannot both read standard input. Use a file for one of them")
    fields = {} if options.request is None else await _request_file(options.request)
    for option in named:
        if option.takes == "json_file":
            text = await _file(option.name, getattr(options, option.attribute))
            extensions[str(option.key)] = decode_json(text, str(option.key))
    fields["prompt"] = await _prompt(options, fields)
    if isinstance(fields["prompt"], str) and not fields["prompt"].strip():
        raise InvalidRequestError(_NO_PROMPT)
    for name in ("working_dir", "timeout"):
        if getattr(options, name) is not None:
            fields[name] = getattr(options, name)
    fields["env"] = override(fields.get("env", {}), env)
    fields["extensions"] = _merge(fields.get("extensions", {}), extensions, agent.options)
    return RunRequest(**fields), run_config(options, agent)


async def _prompt(options: argparse.Namespace, fields: Mapping[str, Any]) -> Any:
    if options.request is not None:
        if options.prompt is None:
            return fields.get("prompt", "")
        if "prompt" in fields:
            raise UsageError("The file of --request has a prompt, too. Remove one of the two prompts")
    return await read_prompt(options.prompt, context=options.request != "-")


async def _request_file(path: str) -> dict[str, Any]:
    fields = decode_json(await _file("--request", path), "the request")
    if not isinstance(fields, dict) or not fields.keys() <= _FIELDS:
        raise InvalidRequestError(
            f"the request must be a JSON object with only the fields {', '.join(sorted(_FIELDS))}"
        )
    return fields


async def _file(option: str, path: str) -> bytes:
    try:
        return await read_input(path)
    except (OSError, ValueError):
        raise UsageError(f"{option}: the file cannot be read. Specify a readable file") from None


def _extension_entries(texts: Sequence[str]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for number, entry in enumerate(texts, 1):
        key, equals, text = entry.partition("=")
        if not equals or not key:
            raise UsageError(f"--extension: number {number} must be KEY=JSON")
        if key in entries:
            raise UsageError(f"--extension: number {number} sets a key again. Set each key once")
        try:
            entries[key] = decode_json(os.fsencode(text), key)
        except InvalidRequestError:
            raise UsageError(
                f"--extension: the value of number {number} is not JSON. Put a text into double quotes inside single "
                "quotes"
            ) from None
    return entries


def _options_by_name(
    options: argparse.Namespace, agent_options: Sequence[Option], entries: Mapping[str, Any]
) -> list[Option]:
    """Return the agent's options with a key that the command line sets by name."""
    named = [
        option
        for option in agent_options
        if option.key is not None and option.names and getattr(options, option.attribute) is not None
    ]
    for option in named:
        if option.key in entries:
            raise UsageError(f"{option.name} and --extension {option.key} set the same value. Remove one of them")
    return named


def _value(option: Option, options: argparse.Namespace) -> Any:
    return convert_words(option, getattr(options, option.attribute))


def _merge(requested: Any, extensions: dict[str, Any], agent_options: Sequence[Option]) -> Any:
    """Merge extensions with those of a request, each with the `merge` of its option."""
    merged = override(requested, extensions)
    if isinstance(requested, dict):
        for option in agent_options:
            if option.key in requested and option.key in extensions:
                merged[option.key] = option.merge(requested[option.key], extensions[option.key])
    return merged
