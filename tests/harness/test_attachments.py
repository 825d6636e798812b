"""Test attachments: images are recognized by content, other files by name, and special files are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_adapter.harness.attachments import Image, link_images, sort_attachments
from codex_adapter.turn_errors import TurnError

pytestmark = pytest.mark.rule("U10")

PNG, JPEG, WEBP = b"\x89PNG\r\n\x1a\n....", b"\xff\xd8\xff\xe0....", b"RIFF\x10\0\0\0WEBPVP8 "


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "png"),
        (JPEG, "jpeg"),
        (b"GIF87a..", "gif"),
        (b"GIF89a..", "gif"),
        (WEBP, "webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"BM....", None),
        (b"<svg/>", None),
        (b"", None),
    ],
)
def test_what_is_an_image_is_told_by_its_content(tmp_path: Path, content: bytes, kind: str | None) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    found = sort_attachments([str(path)])
    assert found.images == (() if kind is None else (Image(str(path), kind),))
    assert found.files == (() if kind is not None else (str(path),))


def test_other_files_are_named_at_the_end_of_the_prompt(tmp_path: Path) -> None:
    for name in ("a b.txt", "c.csv"):
        (tmp_path / name).touch()
    found = sort_attachments([str(tmp_path / "a b.txt"), str(tmp_path / "c.csv")])
    assert found.prompt("Read.") == f"Read.\n\nAttached files:\n- {tmp_path}/a b.txt\n- {tmp_path}/c.csv\n"
    assert sort_attachments([]).prompt("Read.") == "Read."


@pytest.mark.fault(
    "turns",
    "An attachment is a FIFO, a directory or a missing file",
    "The turn is refused before it starts anything, without waiting for the file",
)
def test_what_is_no_file_that_can_be_read_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "two\nlines").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    wrong = ["fifo", "missing", "dangling", "", "two\nlines", "nul\0", "x" * 5000]
    for path in ["relative", *(f"{tmp_path}/{name}" for name in wrong)]:
        with pytest.raises(TurnError, match=r"^attachments\[0\] ") as refused:
            sort_attachments([path])
        assert str(tmp_path) not in str(refused.value)


def test_an_image_with_an_odd_path_is_given_by_a_link(tmp_path: Path) -> None:
    images = [str(tmp_path / name) for name in ("plain.png", "a,b", "two\nlines.png")]
    links = tmp_path / "links"
    for _ in range(2):
        given = link_images([Image(path, "png") for path in images], links, lambda path: path.endswith("plain.png"))
        assert given[0] == images[0]
        assert [Path(path).readlink() for path in given[1:]] == [Path(image) for image in images[1:]]
        assert given[1:] == (str(links / "1.png"), str(links / "2.png"))
    assert link_images([], links, lambda _: True) == ()
    assert list(links.iterdir()) == []


def test_an_image_that_no_model_would_be_shown_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    os.truncate(path, 50 * 1024 * 1024 + 1)
    with pytest.raises(TurnError, match=r"attachments\[0\] is an image of more than 50 MiB"):
        sort_attachments([str(path)])
    os.truncate(path, 50 * 1024 * 1024)
    assert sort_attachments([str(path)]).images == (Image(str(path), "png"),)
