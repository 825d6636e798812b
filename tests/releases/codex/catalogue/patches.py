"""Define cases in which the model changes files, with the shell and with its patch tool."""

from __future__ import annotations

from codex_adapter.testing.scenario import Patch, script

from .case import Case

__all__ = ["CASES"]

ADD = """\
*** Begin Patch
*** Add File: hello.txt
+hello world
*** End Patch
"""
MANY = """\
*** Begin Patch
*** Update File: a.txt
@@
 alpha
-beta
+BETA
 gamma
*** Delete File: b.txt
*** Update File: c.txt
*** Move to: d.txt
@@
-to be renamed
+renamed
*** Add File: new/dir/n.txt
+new
*** End Patch
"""
HALF = """\
*** Begin Patch
*** Add File: ok1.txt
+one
*** Add File: a.txt/sub.txt
+impossible, a.txt is a file
*** Add File: ok2.txt
+two
*** End Patch
"""
NO_MATCH = """\
*** Begin Patch
*** Update File: a.txt
@@
-no such line
+anything
*** End Patch
"""
OUTSIDE = """\
*** Begin Patch
*** Add File: /etc/codex_probe_denied
+x
*** End Patch
"""
KNOWN_MODEL = "gpt-5.5"
"""A model that releases since 0.125 offer the patch tool to."""


def _by_tool(name: str, about: str, patch: str) -> Case:
    return Case(name=name, about=about, scenario=script(Patch(patch, "tool"), "Done."), model=KNOWN_MODEL)


def _by_shell(name: str, about: str, patch: str) -> Case:
    return Case(name=name, about=about, scenario=script(Patch(patch), "Done."))


CASES = (
    _by_tool("patch_add", "A new file.", ADD),
    _by_tool("patch_multi", "A file each changed, deleted, renamed and added.", MANY),
    _by_tool("patch_half", "A patch that fails after it has been applied in part.", HALF),
    _by_shell("patch_sh_add", "A new file, through the shell.", ADD),
    _by_shell("patch_sh_multi", "A file each changed, deleted, renamed and added, through the shell.", MANY),
    _by_shell("patch_sh_half", "A patch that fails after it has been applied in part, through the shell.", HALF),
    _by_shell("patch_sh_outside", "A new file outside of the workspace, through the shell.", OUTSIDE),
    _by_tool("patch_fail", "A patch that does not fit its file.", NO_MATCH),
    _by_shell("patch_sh_fail", "A patch that does not fit its file, through the shell.", NO_MATCH),
)
