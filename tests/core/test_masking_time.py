"""Test that masking takes linear time for texts that almost match each pattern and each form."""

from __future__ import annotations

import time

import pytest

from codex_adapter.core.masking.masker import Masker

from ..rows import rows

SECRET = "correct-horse-battery-staple"
HOSTILE = {
    "one long run": "a",
    "token beginnings": "sk-",
    "tokens cut short": "sk-aaaaaaaaaaaaaaa ",
    "token after token": "sk-aaaaaaaaaaaaaaaa ",
    "live keys": "sk_live_",
    "test keys": "rk_test_aaaaaaaaaaaaaaa ",
    "GitHub tokens": "ghp_aaaaaaaaaaaaaaaaaaa ",
    "fine-grained tokens": "github_pat_",
    "GitLab tokens": "glpat-aaaaaaaaaaaaaaa ",
    "Slack tokens": "xoxb-",
    "access key ids": "AKIAAAAAAAAAAAAAAAAAA",
    "Google keys": "AIzaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ",
    "model hub tokens": "hf_",
    "npm tokens": "npm_aaaaaaaaaaaaaaaaaaaaaaaaaaaaa ",
    "PyPI tokens": "pypi-",
    "beginnings of web tokens": "eyJaaaaaaaaaaaaaaa.",
    "web tokens without an end": "eyJaaaaaaaaaaaaaaa.aaaaaaa ",
    "letters of escapes": "\\nsk-",
    "users without a password": "https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:",
    "passwords without a host": "://a:" + "a" * 250,
    "schemes": "://",
    "schemes and colons": "://:",
    "key beginnings": "-----BEGIN PRIVATE KEY-----",
    "half key beginnings": "-----BEGIN AAAA ",
    "key ends": "PRIVATE KEY-----END ",
    "dashes": "-",
    "bearers": "Bearer aaaaaaa ",
    "bearers and tokens": "Bearer aaaaaaaaaaaaaaaa ",
    "basics": "Basic aaaaaaaaaaaaaaa. ",
    "at signs": "://@",
    "spaces": " ",
    "almost the secret": SECRET[:-1],
    "the secret": SECRET,
    "the secret's hex, almost": SECRET.encode().hex()[:-1] + " ",
    "the secret's hex": SECRET.encode().hex(),
    "the secret's base64, almost": "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBs ",
    "the secret's base64": "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ== ",
    "percent signs": "%",
    "escapes for URLs": "%63",
    "escapes in escapes for URLs": "%25252525",
    "the secret, for URLs": "".join(f"%{ord(character):02x}" for character in SECRET),
    "backslashes": "\\",
    "escapes for JSON": "\\u0063",
    "half escapes for JSON": "\\u006",
    "half surrogates": "\\ud83d",
    "the secret, for JSON": "".join(f"\\u{ord(character):04x}" for character in SECRET),
    "both kinds of escapes": "%5Cu0063\\x63",
}


@pytest.mark.rule("X5")
@rows("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_masking_takes_time_linear_in_the_length_of_the_text(unit: str) -> None:
    mask_a_long_text(unit, 1 << 18)


@pytest.mark.rule("X5")
@pytest.mark.nightly
@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_masking_takes_time_linear_in_the_length_of_four_mebibytes(unit: str) -> None:
    mask_a_long_text(unit, 1 << 22)


PROSE = "The quick brown fox jumps over the lazy dog, and runs on. "
MANY = [f"{number:04}-Zk3vQ9pL7xWc2RtY8mNb" for number in range(100)]


@pytest.mark.rule("X5")
@pytest.mark.nightly
@pytest.mark.parametrize(
    "planted", [MANY[1].encode().hex(), MANY[1], "%30%30" + MANY[1][2:]], ids=["hex", "plain", "URL"]
)
def test_one_secret_in_a_long_text_costs_hardly_more_than_none(planted: str) -> None:
    masker = Masker(MANY)
    assert masker.mask(f"{PROSE * 10_000}{planted}") == f"{PROSE * 10_000}***"
    assert seconds(masker, PROSE, 1 << 20, planted) < 50 * seconds(masker, PROSE, 1 << 20, "")


@pytest.mark.rule("X5")
@pytest.mark.nightly
@pytest.mark.parametrize("ending", ["", MANY[1].encode().hex()], ids=["none", "hex"])
def test_a_hundred_secrets_cost_hardly_more_than_a_few(ending: str) -> None:
    assert seconds(Masker(MANY), PROSE, 1 << 20, ending) < 10 * seconds(Masker(MANY[:3]), PROSE, 1 << 20, ending)


def mask_a_long_text(unit: str, length: int) -> None:
    """Mask a text that nearly matches; what took more than linear time would not come to its end before the alarm."""
    # Lets every pattern and every form be tried.
    ending = f" @ PRIVATE KEY----- earer :// {SECRET} %63 \\u0063 {SECRET.encode().hex()}"
    masked = Masker([SECRET, "p@ss/word with signs"]).mask((unit * (length // len(unit)))[:length] + ending)
    assert SECRET not in masked


def seconds(masker: Masker, unit: str, length: int, ending: str) -> float:
    """Return the least CPU time of three: other processes of the machine only ever add to it."""
    text = (unit * (length // len(unit)))[:length] + ending
    times = []
    for _ in range(3):
        start = time.process_time()
        masker.mask(text)
        times.append(time.process_time() - start)
    return min(times)
