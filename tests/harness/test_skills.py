"""Test the copies of skills that the CLI receives."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter.harness.skills import copy_skill
from codex_adapter.spaces import Skill

pytestmark = pytest.mark.rule("U9")

FILES = {
    "plain": b"---\nname: greeting\ndescription: How.\n---\nSay ahoy.\n---\nTwice.\n",
    "no name": b"---\ndescription: How.\n---\nSay ahoy.\n---\nTwice.\n",
    "byte order mark": b"\xef\xbb\xbf---\ndescription: How.\n---\nSay ahoy.\n---\nTwice.\n",
    "other keys": b"---\ndescription: >\n  How\nmetadata:\n  short-description: [x]\n---\nSay ahoy.\n---\nTwice.\n",
    "blanks": b"--- \ndescription: How.\n---  \nSay ahoy.\n---\nTwice.\n",
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.fault(
    "turns",
    "Some releases silently skip a skill because of its front matter",
    "The adapter rewrites the front matter so that every release reads it",
)
def test_a_skill_says_its_name_and_description_in_the_plainest_way(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "store"
    source.mkdir()
    (source / "SKILL.md").write_bytes(content)
    (source / "SKILL.md").chmod(0o444)
    told = 'How one says "ahoy": \\o/ #1 é'
    copy_skill(Skill(name="greeting", description=told, space="one", directory=str(source)), tmp_path)
    written = (tmp_path / "greeting" / "SKILL.md").read_bytes().decode()
    front = 'name: "greeting"\ndescription: "How one says \\"ahoy\\": \\\\o/ #1 é"\n'
    assert written == f"---\n{front}---\nSay ahoy.\n---\nTwice.\n"


def test_line_ends_of_the_text_stay_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "store"
    source.mkdir()
    (source / "SKILL.md").write_bytes(b"---\r\ndescription: How.\r\n---\r\nSay\r\nahoy.\x0c\r\n")
    copy_skill(Skill(name="greeting", description="How.", space="one", directory=str(source)), tmp_path)
    assert (tmp_path / "greeting" / "SKILL.md").read_bytes().endswith(b"---\nSay\r\nahoy.\x0c\r\n")
