"""Where the secrets of a person usually lie: what a sandbox hides of the home directory (H14)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["default_hidden"]

_BELOW_HOME: Final = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".kube",
    ".docker",
    ".codex",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".config/containers/auth.json",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".gem/credentials",
    ".my.cnf",
    ".pgpass",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
)


def default_hidden(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The well-known places below `HOME`, and `CODEX_HOME`; absolute paths, of which not all need exist (H14)."""
    home, codex_home = environ.get("HOME"), environ.get("CODEX_HOME")
    places = [str(Path(home, name)) for name in _BELOW_HOME] if home else []
    if codex_home:
        places.append(codex_home)
    return tuple(str(Path(place).absolute()) for place in places)
