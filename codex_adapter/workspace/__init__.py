"""Give an untrusted agent the files and commands of one directory, and nothing outside it."""

from __future__ import annotations

from codex_adapter.agent_places import AgentPlaces
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.workspace.capture import Captured
from codex_adapter.workspace.commands import CommandResult, run_command
from codex_adapter.workspace.errors import Code, WorkspaceError
from codex_adapter.workspace.files import Workspace
from codex_adapter.workspace.fingerprints import fingerprint
from codex_adapter.workspace.isolation import (
    create_empty_directory,
    is_replaceable,
    isolate_environment,
    name_empty_directory,
    seal_imports,
)
from codex_adapter.workspace.listing import Entry, Listing
from codex_adapter.workspace.paths import split_path
from codex_adapter.workspace.programs import Program, open_program
from codex_adapter.workspace.sandbox import Sandbox, find_sandbox
from codex_adapter.workspace.secret_places import list_secret_places
from codex_adapter.workspace.steering_files import SteeringWatch, list_steering_names

__all__ = [
    "AgentPlaces",
    "Captured",
    "Code",
    "CommandResult",
    "Containment",
    "Entry",
    "Listing",
    "Program",
    "Sandbox",
    "SteeringWatch",
    "Workspace",
    "WorkspaceError",
    "create_empty_directory",
    "find_sandbox",
    "fingerprint",
    "is_replaceable",
    "isolate_environment",
    "list_secret_places",
    "list_steering_names",
    "name_empty_directory",
    "open_program",
    "run_command",
    "seal_imports",
    "split_path",
]
