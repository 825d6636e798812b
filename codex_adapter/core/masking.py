"""Credentials -> `***`, in time linear in the text: the run's own secrets, and well-known shapes (X5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from codex_adapter.events import (
    ErrorSource,
    Event,
    Facet,
    Plan,
    PlanItem,
    TextPart,
    ToolCall,
)

__all__ = ["MASK", "SHORTEST_SECRET", "Masker", "mask_event", "secret_values"]

MASK = "***"

SHORTEST_SECRET = 8
_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTHORIZATION|COOKIE"
    r"|(?:_|\A)(?:KEY|PAT|PWD|PASS|AUTH|DSN)\Z"
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})

_MASKED = re.compile(
    # Tokens that are known by how they begin. None begins inside a longer run of token characters, and all that
    # repeats is possessive, so that no text makes a pattern look twice.
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-[A-Za-z0-9_-]{16,}+"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+"
    r"|gh[pousr]_[A-Za-z0-9]{20,}+"
    r"|github_pat_[A-Za-z0-9_]{20,}+"
    r"|glpat-[A-Za-z0-9_-]{16,}+"
    r"|xox[abeprs]-[A-Za-z0-9-]{12,}+"
    r"|A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z_-])"
    r"|AIza[0-9A-Za-z_-]{30,}+"
    r"|hf_[A-Za-z0-9]{30,}+"
    r"|npm_[A-Za-z0-9]{30,}+"
    r"|pypi-[A-Za-z0-9_-]{32,}+"
    r"|eyJ[A-Za-z0-9_-]{13,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]++)?"
    r")"
    # Credentials that are known by what stands around them.
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}+"
    r"|(?<=[Bb]asic )[A-Za-z0-9+/=]{16,}+"
    r"|(?<=://)[^\s/@:]{0,128}+:[^\s/@]{2,256}+(?=@)"
    r"|-----BEGIN [A-Z ]{0,40}?PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}?PRIVATE KEY-----|\Z)"
)
# What `may_touch` looks for: one of these occurs in every text that the pattern matches ...
_AROUND = ("earer ", "asic ", "PRIVATE KEY-----")
# ... or one of these begins a run of at least 16 token characters.
_PREFIXES = tuple(
    prefix.encode()
    for prefix in (
        *("sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        *("github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "hf_", "npm_", "pypi-", "eyJ"),
    )
)
_LONG_RUN = b"x" * 16
_WINDOW = 65_536
_RUNS = bytes(ord("x") if chr(byte).isalnum() or chr(byte) in "_-" else ord(" ") for byte in range(128)) + b" " * 128


def secret_values(environment: Mapping[str, str], also: Iterable[str] = ()) -> list[str]:
    """The values of `environment` that are secrets: by their variable's name, or because it is in `also` (X5)."""
    named = frozenset(also)
    return [
        value
        for name, value in environment.items()
        if name in named or (_NAME.search(name.upper()) and name.upper() not in _NOT_SECRET)
    ]


class Masker:
    """Replaces every given secret, and everything that is shaped like a credential, by `***` (X5).

    Values shorter than 8 characters are too common to be replaced and are left out.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {value.strip() for value in secrets}
        # As they stand in JSON text, which payloads are in part.
        values |= {msgspec.json.encode(value).decode()[1:-1] for value in values}
        # The longest first: a secret may be a part of another one.
        self._secrets = sorted((v for v in values if len(v) >= SHORTEST_SECRET), key=len, reverse=True)
        self._literals = (*self._secrets, *_AROUND)
        self._overlap = max(512, *map(len, self._literals))

    def may_touch(self, texts: Sequence[str]) -> bool:
        """Whether `mask` could change any of the texts: a cheap 'no' for almost all, and never a wrong one.

        The pattern costs twenty times what the rest of the pipeline does, so it must not see ordinary text.
        """
        joined = "\0".join(texts)
        # A long text is looked at in windows, which overlap so that nothing lies across a border unseen.
        step = max(_WINDOW, 2 * self._overlap)
        return any(
            self._may_touch(joined[start : start + step + self._overlap]) for start in range(0, len(joined), step)
        )

    def _may_touch(self, window: str) -> bool:
        for literal in self._literals:
            if literal in window:
                return True
        if "@" in window and "://" in window:
            return True
        encoded = window.encode()
        runs = encoded.translate(_RUNS)
        start = runs.find(_LONG_RUN)
        while start >= 0:
            if encoded.startswith(_PREFIXES, start):
                return True
            end = runs.find(b" ", start)
            start = runs.find(_LONG_RUN, end) if end >= 0 else -1
        return False

    def mask(self, text: str) -> str:
        """The text without its secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return _MASKED.sub(MASK, text) if self.may_touch((text,)) else text


def mask_event(event: Event, masker: Masker) -> Event:
    """The event with the strings of its line masked, but for those that the mapping has masked already (X5)."""
    text, message, data = event.text, event.message, event.data
    if text is not None:
        text = masker.mask(text)
    if message is not None and isinstance(data, ErrorSource):  # any other message is our own
        message = masker.mask(message)
    return replace(event, text=text, message=message, data=_mask_facet(data, masker))


def _mask_facet(data: Facet | None, masker: Masker) -> Facet | None:
    def mask(text: str | None) -> str | None:
        return None if text is None else masker.mask(text)

    match data:
        case TextPart():
            return replace(data, item_id=mask(data.item_id))
        case ToolCall(tool=tool):
            names = {"backend_item_id": mask(tool.backend_item_id), "tool_name": mask(tool.tool_name)}
            return replace(data, tool=replace(tool, **names))
        case Plan():
            return Plan(tuple(PlanItem(masker.mask(step.text), step.completed) for step in data.items))
    return data
