"""Build the frame of every page: one file that executes nothing and loads nothing (C10)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from codex_adapter.cli.present.html import Content, Markup, element

__all__ = ["document"]

_ORIGIN = "Created by codex-adapter. This page is self-contained and makes no network requests."


def document(title: str, content: Sequence[Content], remarks: Sequence[str]) -> bytes:
    """Return a page as a file; `remarks` are sentences about what could not be read."""
    style = files("codex_adapter.cli").joinpath("page.css").read_text("utf-8")
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{title} - codex-adapter"),
        element("style", Markup(style)),
    )
    foot = [element("p", sentence) for sentence in (*remarks, _ORIGIN)]
    body = element("body", element("main", *content), element("footer", *foot))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n".encode()
