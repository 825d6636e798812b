"""Check whether a setting of `git` may execute a command: `git -c KEY=VALUE`, `git clone -c KEY=VALUE` (A3)."""

from __future__ import annotations

import re

from codex_adapter.protocols.operations.shell.effects import Effects
from codex_adapter.protocols.operations.shell.text import Word

__all__ = ["runs_nothing"]

PLAIN = re.compile(
    r"(author|committer|user)\.(name|email)|(advice|blame|color|column|i18n|index|log|status)\..*|format\.pretty"
    r"|core\.(abbrev|autocrlf|checkstat|commentchar|compression|eol|filemode|ignorecase|logallrefupdates|longpaths"
    r"|precomposeunicode|preloadindex|protecthfs|protectntfs|quotepath|safecrlf|symlinks|untrackedcache|whitespace)"
    r"|diff\.(algorithm|colormoved|colormovedws|context|ignoresubmodules|indentheuristic|interhunkcontext|mnemonicprefix"
    r"|noprefix|relative|renamelimit|renames|submodule|suppressblankempty|wordregex)|(branch|tag)\.sort|gc\.auto"
    r"|branch\.autosetup(merge|rebase)|fetch\.(parallel|prune|prunetags|writecommitgraph)|init\.defaultbranch"
    r"|grep\.(column|extendedregexp|fullname|linenumber|patterntype|threads)|safe\.(directory|barerepository)"
    r"|http\.(lowspeedlimit|lowspeedtime|postbuffer|sslverify|version)|maintenance\.auto|pack\.(threads|windowmemory)"
    r"|merge\.(conflictstyle|ff|log|renamelimit|renames|stat|verbosity)|protocol\.version|submodule\.recurse"
    r"|pull\.(ff|rebase)|push\.(autosetupremote|default|followtags)|rebase\.(autosquash|autostash|stat|updaterefs)"
    r"|rerere\.(autoupdate|enabled)|transfer\.(fsckobjects|unpacklimit)"
)
"""Names, in lower case, of settings that name no program, file or address."""
PLAIN_VALUES = re.compile(
    r"(core\.pager|pager\..*)=(cat|more|true|false|less( -[a-z]+)*|)|(core|sequence)\.editor=(:|cat|true|false|)"
    r"|(commit|push|tag)\.gpgsign=(false|no|off|0)|core\.(fsmonitor)=(true|false|)|core\.hookspath=/dev/null"
    r"|credential\.(.*\.)?helper=|filter\..*\.(clean|smudge|process|required)=(false|)|interactive\.difffilter=(cat|)"
)
"""Settings, in lower case, that execute nothing with these values."""


def runs_nothing(setting: Word, found: Effects) -> bool:
    """Return whether a setting executes nothing. If not, add its value to `found`, which may be a shell text (A3)."""
    name, equals, value = setting.prefix.partition("=")
    name = name.lower()
    if setting.stays_one and PLAIN.fullmatch(name) and (equals or setting.text is not None):
        return True
    if setting.text is None:
        return False
    if PLAIN_VALUES.fullmatch(f"{name}={value.lower()}" if equals else name):
        return True
    found.texts.append(f"git {value}" if name.startswith("alias.") and value[:1] != "!" else value.removeprefix("!"))
    return False
