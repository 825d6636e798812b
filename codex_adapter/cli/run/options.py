"""The options of `run`, and what they come to: a request and a configuration (C6)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any, Final

from codex_adapter import CodexConfig, InvalidRequestError, RunRequest
from codex_adapter.agents.codex.extensions import APPROVAL_POLICIES, SANDBOX_MODES
from codex_adapter.cli.agent_options import add_backend_options, read_environment, read_settings, run_config
from codex_adapter.cli.arguments import Once, Parser, form_of_a_run
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.inputs import decode_json, read_input
from codex_adapter.cli.logs import add_log_option
from codex_adapter.cli.prompts import read_prompt
from codex_adapter.cli.run.option_names import KEYS

__all__ = ["TRUST_PROJECT", "add_options", "read_request"]

TRUST_PROJECT: Final = KEYS["trust_project"]

_ADD_DIRS: Final = KEYS["add_dir"]
_IMAGES: Final = KEYS["image"]
_SCHEMA: Final = KEYS["output_schema"]
_SETTINGS: Final = KEYS["config"]
_FIELDS: Final = frozenset(RunRequest.__struct_fields__)


def add_options(parser: Parser) -> None:
    """The prompt and the options of `run`."""
    add = parser.add_argument
    add("prompt", nargs="?", metavar="PROMPT", help="what to do; standard input when it is - or left out")
    where = parser.add_argument_group("the run")
    add = where.add_argument
    add("--working-dir", action=Once, metavar="DIR", help="where the agent works (default: here)")
    add_backend_options(where)
    add = parser.add_argument_group("the agent").add_argument
    add("--sandbox", action=Once, metavar="MODE", help=f"{', '.join(SANDBOX_MODES)} (default: {SANDBOX_MODES[1]})")
    trust = "let the agent use the project's own settings, hooks and MCP servers; without it, it never does"
    add("--trust-project", action="store_true", default=None, help=trust)
    add("--interactive", action="store_true", default=None, help="let the agent ask; without it, it never does")
    add(
        "--ask-for-approval", action=Once, metavar="POLICY", help=f"{', '.join(APPROVAL_POLICIES)}; needs --interactive"
    )
    add("--add-dir", action="append", metavar="DIR", help="one more directory to write in; repeatable")
    add("--image", action="append", metavar="FILE", help="an image that belongs to the prompt; repeatable")
    add("--output-schema", action=Once, metavar="FILE", help="a JSON Schema that the last message must fit")
    add("--resume", action=Once, metavar="ID|last", help="go on with a session")
    add("--fork", action=Once, metavar="ID", help="go on with a copy of a session")
    add = parser.add_argument_group("the request and the records").add_argument
    add("--request", action=Once, metavar="FILE", help="a whole request as JSON, - for standard input; options win")
    add("--extension", action="append", metavar="KEY=JSON", help="one extension key of the request; repeatable")
    add("--tool-payloads", action=Once, metavar="WHICH", help="metadata, or full: also what tools were given and gave")
    add(
        "--format",
        action=Once,
        type=form_of_a_run,
        metavar="FORMAT",
        help="jsonl, pretty, or text: the answer alone (default: pretty on a terminal, else jsonl)",
    )
    add("--last-message", action=Once, metavar="FILE", help="write the answer to this file, too")
    add_log_option(parser)
    add("--quiet", action="store_true", help="do not say on standard error why a run failed")


async def read_request(options: argparse.Namespace) -> tuple[RunRequest, CodexConfig]:
    """The request that the options, the request file and standard input make together (C1, C6).

    Options win over what the request file says of the same thing; variables, directories and images add to its own.
    Whether all of it makes sense is for the run's own checks. Raises `UsageError` and `InvalidRequestError`.
    """
    env, extensions = read_environment(options.env or ()), _extensions(options)
    if options.request is not None and options.request == options.prompt == "-":
        raise UsageError("--request and the prompt cannot both come from standard input")
    fields = {} if options.request is None else await _request_file(options.request)
    if options.output_schema is not None:
        text = await _file("--output-schema", options.output_schema)
        extensions[_SCHEMA] = decode_json(text, _SCHEMA)
    fields["prompt"] = await _prompt(options, fields)
    for name in ("working_dir", "timeout"):
        if getattr(options, name) is not None:
            fields[name] = getattr(options, name)
    fields["env"] = _over(fields.get("env", {}), env)
    fields["extensions"] = _merge(fields.get("extensions", {}), extensions)
    return RunRequest(**fields), run_config(options)


async def _prompt(options: argparse.Namespace, fields: Mapping[str, Any]) -> Any:
    given = options.prompt
    if options.request is not None:
        if given is None:
            return fields.get("prompt", "")
        if "prompt" in fields:
            raise UsageError("the prompt is in the --request already; leave out one of the two")
    return await read_prompt(given, context=options.request != "-")


async def _request_file(path: str) -> dict[str, Any]:
    fields = decode_json(await _file("--request", path), "the request")
    if not isinstance(fields, dict) or not fields.keys() <= _FIELDS:
        raise InvalidRequestError(
            f"the request must be an object with none but the fields {', '.join(sorted(_FIELDS))}"
        )
    return fields


async def _file(option: str, path: str) -> bytes:
    try:
        return await read_input(path)
    except (OSError, ValueError):
        raise UsageError(f"{option}: the file cannot be read; give the path of a readable file") from None


def _extensions(options: argparse.Namespace) -> dict[str, Any]:
    named = _named_options(options)
    given: dict[str, Any] = {}
    for number, entry in enumerate(options.extension or (), 1):
        key, equals, text = entry.partition("=")
        if not equals or not key:
            raise UsageError(f"--extension: number {number} must be KEY=JSON")
        if key in given:
            raise UsageError(f"--extension: number {number} sets a key again; give each key once")
        try:
            given[key] = decode_json(os.fsencode(text), key)
        except InvalidRequestError:
            raise UsageError(f"--extension: the value of number {number} is not JSON; quote a text twice") from None
    for attribute, key in KEYS.items():
        if getattr(options, attribute) is not None and key in given:
            option = attribute.replace("_", "-")
            raise UsageError(f"--{option} and --extension {key} set the same thing; leave out one of the two")
    return given | named


def _named_options(options: argparse.Namespace) -> dict[str, Any]:
    values = {attribute: getattr(options, attribute) for attribute in KEYS if attribute != "output_schema"}
    extensions = {KEYS[attribute]: value for attribute, value in values.items() if value is not None}
    if options.interactive is not None:
        extensions[KEYS["interactive"]] = False
    if options.config is not None:
        extensions[_SETTINGS] = read_settings(options.config)
    if options.add_dir is not None:
        extensions[_ADD_DIRS] = {"dirs": options.add_dir}
    for attribute in ("resume", "fork"):
        session = values[attribute]
        if session is not None:
            selector = {"selector": "last"} if session == "last" else {"selector": "id", "id": session}
            extensions[KEYS[attribute]] = selector
    return extensions


def _merge(requested: Any, given: dict[str, Any]) -> Any:
    """Extensions over those of a request; what is of the wrong shape stays, and is refused for it."""
    merged = _over(requested, given)
    if not isinstance(requested, dict):
        return merged
    if _IMAGES in requested and _IMAGES in given:
        merged[_IMAGES] = _joined(requested[_IMAGES], given[_IMAGES])
    if _SETTINGS in requested and _SETTINGS in given:
        merged[_SETTINGS] = _over(requested[_SETTINGS], given[_SETTINGS])
    if _ADD_DIRS in requested and _ADD_DIRS in given:
        ours, theirs = given[_ADD_DIRS], requested[_ADD_DIRS]
        fits = isinstance(theirs, dict) and isinstance(ours, dict)
        merged[_ADD_DIRS] = (
            {**theirs, **ours, "dirs": _joined(theirs.get("dirs"), ours.get("dirs"))} if fits else theirs
        )
    return merged


def _joined(requested: Any, given: Any) -> Any:
    return [*requested, *given] if isinstance(requested, list) and isinstance(given, list) else requested


def _over(requested: Any, given: dict[str, Any]) -> Any:
    if not isinstance(requested, dict):
        return requested
    return {name: value for name, value in requested.items() if name not in given} | given
