"""Predict each event of a batch from its operations, independent of kills."""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import Path
from typing import Any, Final

from ..rounds import Broken
from .kills_batches import TRACE, Planned
from .workbench import Message

__all__ = ["Model", "check"]

_UNKNOWN: Final = "its outcome is unknown"


def check(holds: bool, said: object) -> None:
    """Raises Broken."""
    if not holds:
        raise Broken(str(said)[:2000])


class Model:
    """The files of a workspace, and the marks of its commands: how often each may have been traced."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.traced: dict[str, range] = {}
        self.unknown = 0

    def take(self, planned: Planned, decision: str | None, event: Message) -> None:
        """See that an event is the one that is due, and do what its operation does. Raises Broken."""
        operation = planned.operation
        if planned.mark is not None:
            self.traced[planned.mark] = range(1)
        if planned.verdict == "invalid":
            check((event["type"], event.get("category")) == ("error", "validation"), event)
        elif planned.verdict == "denied" or decision == "denied":
            check((event["type"], event.get("operationType")) == ("policyDenied", operation["type"]), event)
        else:
            check(event["type"] == operation["type"], event)
            if planned.mark is not None:
                self._take_command(planned.mark, operation["command"], event)
            elif operation["type"] != "message":
                said = {name: event[name] for name in event.keys() - {"type", "timestamp", "operationId", "error"}}
                due = {"path": operation["path"], **self._due(operation)}
                check(said == due and ("error" in event) is not due["success"], f"{event}; due was {due}")

    def look_at(self, root: Path) -> None:
        """See that a workspace has what the events say, and nothing else. Raises Broken."""
        there = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        traced = Counter(there.pop(TRACE, b"").decode().split())
        wrong = {mark: traced[mark] for mark, times in self.traced.items() if traced[mark] not in times}
        check(not wrong and traced.keys() <= self.traced.keys(), f"traced: {wrong}, {traced}")
        check(there == self.files, f"files: {sorted(there)}, due are {sorted(self.files)}")

    def _take_command(self, mark: str, command: str, event: Message) -> None:
        if _UNKNOWN in event.get("error", ""):
            self.unknown += 1
            self.traced[mark] = range(2)
            check(event["success"] is False, event)
            return
        self.traced[mark] = range(1, 2)
        status = 3 if "exit 3" in command else 137 if "kill -9" in command else 0
        check((event.get("exitCode"), event["success"]) == (status, status == 0), event)
        check(event["stdout"] == ("x" * 100_000 if "head" in command else ""), event)

    def _due(self, operation: Message) -> dict[str, Any]:
        before = self.files.get(operation["path"])
        failed = {"success": False}
        match operation["type"]:
            case "createFile":
                if before is not None and not operation["overwrite"]:
                    return failed
                self.files[operation["path"]] = content = operation["content"].encode()
                return {"success": True, "bytesWritten": len(content)}
            case "readFile" if before is not None:
                encoding = operation["encoding"]
                content = before if encoding == "utf-8" else base64.b64encode(before)
                return {"success": True, "encoding": encoding, "size": len(before), "content": content.decode()}
            case "editFile" if before is not None:
                text = before.decode()
                for edit in operation["edits"]:
                    if edit["oldContent"] not in text:
                        return failed
                    text = text.replace(edit["oldContent"], edit["newContent"], 1)
                self.files[operation["path"]] = text.encode()
                return {"success": True, "editsApplied": len(operation["edits"])}
            case "deleteFile" if before is not None:
                del self.files[operation["path"]]
                return {"success": True}
        return failed
