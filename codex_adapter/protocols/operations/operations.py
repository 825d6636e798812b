"""Define the six operations: their names, members and limits on the wire (O2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from codex_adapter.protocols.operations.text_pieces import Encoding, Text, from_base64

__all__ = [
    "MOST_FILE_BYTES",
    "MOST_PATH_CHARACTERS",
    "OPERATIONS",
    "CreateFileOperation",
    "DeleteFileOperation",
    "EditFileOperation",
    "FileEdit",
    "MessageOperation",
    "Operation",
    "OperationType",
    "ReadFileOperation",
    "ShellOperation",
]

MOST_FILE_BYTES: Final = 10 * 1024 * 1024
MOST_PATH_CHARACTERS: Final = 255

OperationType = Literal["message", "createFile", "readFile", "editFile", "deleteFile", "shell"]

_PATH_DESCRIPTION: Final = "a string of at most 255 characters, a path below the workspace's root, no '..' in it"
Id = Annotated[str, Meta(description="a string; its event has it as operationId")]
Path = Annotated[str, Meta(max_length=MOST_PATH_CHARACTERS, description=_PATH_DESCRIPTION)]
Directory = Annotated[
    str, Meta(max_length=MOST_PATH_CHARACTERS, description=f"{_PATH_DESCRIPTION}; without it the root")
]
FileEncoding = Annotated[Encoding, Meta(description='"utf-8" or "base64"; without it "utf-8"')]
MessageText = Annotated[str, Meta(max_length=100_000, description="a string of at most 100000 characters")]
Content = Annotated[Text, Meta(description="a string, the file's content, at most 10 MiB once decoded")]
Overwrite = Annotated[bool, Meta(description="true or false, whether an existing file is replaced; without it false")]
OldContent = Annotated[str, Meta(description="a string that is in the file; its first occurrence is replaced")]
NewContent = Annotated[str, Meta(description="a string")]
ShellCommand = Annotated[str, Meta(max_length=4_096, description="a string of at most 4096 characters")]
Timeout = Annotated[
    int,
    Meta(ge=1_000, le=3_600_000, description="a whole number of milliseconds, 1000 to 3600000; without it 30000"),
]
Env = Annotated[dict[str, str], Meta(description="an object whose values are strings, environment variables to add")]


class FileEdit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The replacement of one text by another."""

    old_content: OldContent
    new_content: NewContent


Edits = Annotated[
    list[FileEdit],
    Meta(description="a list of objects with the strings oldContent and newContent, applied in order"),
]


class _Operation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """The members of all operations."""

    @property
    def type(self) -> OperationType:
        """Its name on the wire."""
        return cast(OperationType, self.__struct_config__.tag)

    id: Id | UnsetType = UNSET


class MessageOperation(_Operation, frozen=True, kw_only=True, tag="message"):
    """Show a text to the user, without another effect."""

    content: MessageText


class CreateFileOperation(_Operation, frozen=True, kw_only=True, tag="createFile"):
    """Write a file."""

    path: Path
    content: Content
    encoding: FileEncoding = "utf-8"
    overwrite: Overwrite = False

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the file. Only one piece at a time is decoded (O3)."""
        return from_base64(self.content.pieces()) if self.encoding == "base64" else self.content.pieces()


class ReadFileOperation(_Operation, frozen=True, kw_only=True, tag="readFile"):
    """Read the content of a file."""

    path: Path
    encoding: FileEncoding = "utf-8"


class EditFileOperation(_Operation, frozen=True, kw_only=True, tag="editFile"):
    """Edit a file: all edits in order, or none."""

    path: Path
    edits: Edits


class DeleteFileOperation(_Operation, frozen=True, kw_only=True, tag="deleteFile"):
    """Remove a file."""

    path: Path


class ShellOperation(_Operation, frozen=True, kw_only=True, tag="shell"):
    """Run a shell command. `timeout` is in milliseconds, and `cwd` is relative to the root, which is \"\"."""

    command: ShellCommand
    cwd: Directory = ""
    timeout: Timeout = 30_000
    env: Env = {}


Operation: TypeAlias = (
    MessageOperation
    | CreateFileOperation
    | ReadFileOperation
    | EditFileOperation
    | DeleteFileOperation
    | ShellOperation
)

OPERATIONS: Final[dict[str, type[Operation]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Operation)}
"""The operations by their names on the wire."""
