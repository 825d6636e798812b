"""The files and commands of one directory for an agent that is not trusted: nothing reaches out of it."""

from __future__ import annotations

from codex_adapter.runtime.containment import Containment
from codex_adapter.workspace.capture import Captured
from codex_adapter.workspace.commands import CommandResult, run_command
from codex_adapter.workspace.errors import Code, WorkspaceError
from codex_adapter.workspace.files import Workspace
from codex_adapter.workspace.fingerprints import fingerprint
from codex_adapter.workspace.listing import Entry, Listing
from codex_adapter.workspace.names import components
from codex_adapter.workspace.programs import Program, open_program
from codex_adapter.workspace.sandbox import Sandbox, find_sandbox

__all__ = [
    "Captured",
    "Code",
    "CommandResult",
    "Containment",
    "Entry",
    "Listing",
    "Program",
    "Sandbox",
    "Workspace",
    "WorkspaceError",
    "components",
    "find_sandbox",
    "fingerprint",
    "open_program",
    "run_command",
]
