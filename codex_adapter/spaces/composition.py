"""Compose spaces into one environment: later spaces override earlier ones (Z6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from codex_adapter.spaces.dependencies import Space
from codex_adapter.spaces.environment import Environment, Hook, Resolved, Server, Skill
from codex_adapter.spaces.shell_lines import SPACE, insert_directory
from codex_adapter.spaces.space_files import HookLine, ServerLine, Settings
from codex_adapter.spaces.targets import HarnessSettings

__all__ = ["compose"]

_T = TypeVar("_T", Skill, Hook, Server)
_NOTHING: Final = HarnessSettings()


def compose(spaces: Sequence[Space], harness: HarnessSettings | None) -> Environment:
    """Return the environment of spaces in this order. `harness` are the target's settings, which override all (Z6)."""
    settings: list[Settings | HarnessSettings] = [space.loaded.files.manifest.settings for space in spaces]
    env = {name: value for space in spaces for name, value in space.loaded.files.manifest.settings.env.items()}
    settings.append(harness or _NOTHING)
    return Environment(
        spaces=tuple(map(_make_resolved, spaces)),
        instructions="\n".join(filter(None, map(_format_instructions, spaces))),
        skills=_keep_last(skill for space in spaces for skill in _list_skills(space)),
        hooks=_keep_last(hook for space in spaces for hook in _list_hooks(space)),
        servers=_keep_last(server for space in spaces for server in _list_servers(space)),
        env=env,
        model=next((it.model for it in reversed(settings) if it.model is not None), None),
        permissions=next((it.permissions for it in reversed(settings) if it.permissions is not None), None),
    )


def _keep_last(found: Iterable[_T]) -> tuple[_T, ...]:
    """Return the last item of each name, in the order of these last items."""
    by_name: dict[str, _T] = {}
    for it in found:
        by_name.pop(it.name, None)
        by_name[it.name] = it
    return tuple(by_name.values())


def _make_resolved(space: Space) -> Resolved:
    manifest = space.loaded.files.manifest
    return Resolved(
        id=manifest.id,
        version=manifest.version,
        reference=space.reference,
        directory=str(space.loaded.directory),
        digest=space.loaded.digest,
    )


def _format_instructions(space: Space) -> str:
    text = space.loaded.files.instructions.strip()
    return f"# {space.loaded.files.manifest.id}\n\n{text}\n" if text else ""


def _list_skills(space: Space) -> Iterable[Skill]:
    for name, description in space.loaded.files.skills.items():
        directory = str(space.loaded.directory / "skills" / name)
        yield Skill(name=name, description=description, space=_get_id(space), directory=directory)


def _list_hooks(space: Space) -> Iterable[Hook]:
    for hook in space.loaded.files.hooks:
        yield _make_hook(hook, _get_id(space), str(space.loaded.directory))


def _make_hook(hook: HookLine, space: str, directory: str) -> Hook:
    return Hook(
        name=hook.name,
        event=hook.event,
        command=insert_directory(hook.command, directory),
        matcher=hook.matcher,
        timeout=hook.timeout,
        space=space,
    )


def _list_servers(space: Space) -> Iterable[Server]:
    for name, server in space.loaded.files.servers.items():
        yield _make_server(name, server, _get_id(space), str(space.loaded.directory))


def _make_server(name: str, server: ServerLine, space: str, directory: str) -> Server:
    return Server(
        name=name,
        command=_fill(server.command, directory),
        args=tuple(arg.replace(SPACE, directory) for arg in server.args),
        env={variable: value.replace(SPACE, directory) for variable, value in server.env.items()},
        cwd=_fill(server.cwd, directory),
        url=server.url,
        space=space,
    )


def _fill(text: str | None, directory: str) -> str | None:
    return None if text is None else text.replace(SPACE, directory)


def _get_id(space: Space) -> str:
    return space.loaded.files.manifest.id
