"""Test the token formats of many services, and ordinary texts that must not match."""

from __future__ import annotations

import hashlib
import random
import re
import string
import uuid
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.masking.token_prefixes import DISTINCTIVE, PREFIXED
from codex_adapter.core.masking.token_shapes import long_words, may_have_token, token_spans

from ..rows import rows

pytestmark = pytest.mark.rule("X5")

_RANDOM = random.Random(8)
_CLASSES = {
    "%a": string.ascii_letters + string.digits,
    "%t": string.ascii_letters + string.digits + "_-",
    "%h": "0123456789abcdef",
}


def letters(count: int, alphabet: str = _CLASSES["%a"]) -> str:
    return "".join(_RANDOM.choices(alphabet, k=count))


def an_example(rest: str) -> str:
    """A text that such a pattern matches."""
    text = ""
    rest = re.sub(r"\((?:\?:)?local_\)\?", "", rest)
    rest = re.sub(r"\(\?:%h\{16\}_\|local_\)\?", "", rest)
    rest = re.sub(r"\(\?:[^()]*\)(?:\*\+?|\?)", "", rest)
    rest = re.sub(r"\(\?:([^()]*)\)\{(\d+),\d+\}", lambda group: group[1] * int(group[2]), rest)
    for piece in re.finditer(r"(%[ath]|\[[^]]+\])(?:\{(\d+)(?:,\d*)?\}|(\+))?\+?|\\(.)|([^%\[\\])", rest):
        if piece[1]:
            alphabet = _CLASSES.get(piece[1]) or "".join(
                character for character in string.ascii_letters + string.digits if re.match(piece[1], character)
            )
            text += letters(int(piece[2] or 1), alphabet)
        elif (character := piece[4] or piece[5]) not in "=?{":
            text += character
    return re.sub(r"=?\{0,\d\}|0,\d\}", "", text)


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + letters(43)
PGP = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----"
WRITTEN_OUT = {
    "Anthropic": f"sk-ant-api03-{letters(93)}AA",
    "OpenAI": f"sk-proj-{letters(58)}T3BlbkFJ{letters(58)}",
    "Groq": f"gsk_{letters(52)}",
    "xAI": f"xai-{letters(80)}",
    "GitLab runner": f"glrt-{letters(20)}",
    "Google OAuth": f"ya29.{letters(60)}",
    "Google client": f"GOCSPX-{letters(28)}",
    "SendGrid": f"SG.{letters(22)}.{letters(43)}",
    "Vault": f"hvs.{letters(90)}",
    "DigitalOcean": f"dop_v1_{letters(64, '0123456789abcdef')}",
    "Databricks": f"dapi{letters(32, '0123456789abcdef')}",
    "Stripe webhook": f"whsec_{letters(32)}",
    "Slack app": f"xapp-1-A{letters(10)}-1234567890123-{letters(64, '0123456789abcdef')}",
    "Azure": f"abc8Q~{letters(34)}",
    "JWT": JWT,
    "PGP": PGP,
}
AMONG_OTHERS = [
    ("https://hooks.slack.com/", f"services/T{letters(8)}/B{letters(8)}/{letters(24)}", " "),
    ("https://discord.com/api/webhooks/", f"123456789012345678/{letters(68)}", '"'),
    ("https://contoso.webhook.office.com/", f"webhookb2/{uuid.UUID(int=7)}@{uuid.UUID(int=8)}/IncomingWebhook", " "),
    ("https://api.telegram.org/bot", f"123456789:AA{letters(33)}", "/sendMessage"),
    ("DefaultEndpointsProtocol=https;AccountKey=", f"{letters(86)}==", ";EndpointSuffix=core.windows.net"),
    ("Endpoint=sb://x;SharedAccessKey=", f"{letters(43)}=", ";"),
    ("https://", letters(19) + "7", "@github.com/a/b.git"),
    ("Authorization: Basic ", b64encode(b"me:x").decode(), "\n"),
    ("Authorization: Basic ", b64encode(b"u:pw1").decode(), '"'),
    ("authorization: BEARER ", letters(30), "\n"),
    ("AUTHORIZATION: BASIC ", b64encode(b"somebody:password").decode(), "\n"),
]
ORDINARY = {
    "a commit": hashlib.sha1(b"x").hexdigest(),
    "a digest": f"sha256:{hashlib.sha256(b'x').hexdigest()}",
    "an integrity": f'"integrity": "sha512-{b64encode(hashlib.sha512(b"x").digest()).decode()}"',
    "go.sum": f"golang.org/x/text v0.3.7 h1:{b64encode(hashlib.sha256(b'y').digest()).decode()}",
    "a lock file": '{url = "https://files.pythonhosted.org/packages/2a/5c/attrs-23.1.0-py3-none-any.whl", '
    f'hash = "sha256:{hashlib.sha256(b"z").hexdigest()}"}}',
    "an id": f"run {uuid.UUID(int=2**127 + 12345)} has ended",
    "a route": "GET /api/v1/repositories/{repository_id}/pulls?per_page=100",
    "identifiers": "re_compile_with_all_options_of_the_module and secret_manager_client_factory",
    "modules": "rt_sigprocmask(SIG_SETMASK, ~[RTMIN RT_1]) sk-learn-contrib xai-org npm_package_config_registry_url",
    "styles": "pat.terns/sat.isfied sg.png hvs.txt ya29.md SG.Controls.Collections.Generic",
    "Basic": "Basic authentication, Basic understanding, BASIC programs, basic arithmetic1",
    "bearer": "The bearer token is missing; Bearer <token>; bearer of news",
    "a URL with a user": "ssh://git@github.com/owner/repository.git and https://user@example.org/x",
    "addresses": "see https://example.org/a/very/long/path/with/many/parts?x=1#y and mail me@example.org",
    "scp": "rsync -av some-longer-user-name-42@host.example.org:/srv/www .",
    "keys": "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n-----BEGIN PGP PUBLIC KEY BLOCK-----",
    "settings": "AccountKey=; SharedAccessKeyName=RootManageSharedAccessKey",
    "a page": "https://www.notion.so/Meeting-notes-0123456789abcdef0123456789abcdef",
    "a traceback": 'File "/usr/lib/python3/dist-packages/pip/_internal/cli/base_command.py", line 160, in x',
    "a table": "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|",
}


@rows("prefix", PREFIXED)
def test_a_token_of_each_service_is_masked(prefix: str) -> None:
    token = prefix + an_example(PREFIXED[prefix])
    assert Masker().mask(token) == "***"
    assert Masker().mask(f'{{"key": "{token}"}}') == '{"key": "***"}'
    assert Masker().mask(f"line\\n{token}\\nKEY={token} ") == "line\\n***\\nKEY=*** "
    if "." not in prefix and not token.startswith(DISTINCTIVE):
        assert Masker().mask(f"inside-{token}") == f"inside-{token}"


ESCAPED_DELIMITERS = (
    *("%3D", "%3a", "%253D", "%25253D", "\\u003d", "\\u0026", "\\x3d", "\\075", "\\U0000003d", "\\u{3d}"),
    *("&#61;", "&equals;", "\\n", "\\\\u003D", "%0A", "%2525"),
)


@rows("prefix", PREFIXED)
def test_a_token_is_masked_behind_an_escaped_delimiter(prefix: str) -> None:
    token = prefix + an_example(PREFIXED[prefix])
    for escape in ESCAPED_DELIMITERS:
        assert Masker().mask(f"a{escape}{token}\\u0026b") == f"a{escape}***\\u0026b"
        if prefix != "xoxd-":  # may be escaped itself
            assert Masker().mask(f"{escape}{token}{escape}x") == f"{escape}***{escape}x"


@rows("prefix", DISTINCTIVE)
@rows("before", ["-u", "curl -H", "--token-", "id-", "A_", "_", "bearer"])
def test_a_distinctive_token_is_masked_inside_a_word(prefix: str, before: str) -> None:
    start = next(start for start in sorted(PREFIXED, key=len, reverse=True) if prefix.startswith(start))
    token = prefix + an_example(PREFIXED[start])
    inside = prefix.isalnum() and before == "bearer"
    assert Masker().mask(f"{before}{token}:x") == f"{before}{token if inside else '***'}:x"


@rows("token", WRITTEN_OUT.values(), ids=WRITTEN_OUT.keys())
def test_a_token_as_a_service_gives_it_is_masked(token: str) -> None:
    assert Masker().mask(f"it is {token}, see") == "it is ***, see"


@rows(("before", "credential", "after"), AMONG_OTHERS)
def test_a_credential_is_known_by_what_is_around_it(before: str, credential: str, after: str) -> None:
    assert Masker().mask(f"curl '{before}{credential}{after}'") == f"curl '{before}***{after}'"


@rows("text", ORDINARY.values(), ids=ORDINARY.keys())
def test_an_everyday_text_is_not_masked(text: str) -> None:
    masker = Masker(["Zk3vQ9pL7xWc2RtY8mNb", "it's&<s3cret>+42/Qz"])
    assert masker.mask(text) == text
    assert masker.mask(f"{text}\n{WRITTEN_OUT['Groq']}") == f"{text}\n***"


@given(
    st.lists(
        st.one_of(
            st.sampled_from(sorted(PREFIXED)),
            st.sampled_from(
                [
                    *WRITTEN_OUT.values(),
                    "\\n",
                    "%3D",
                    "%25",
                    "\\u003d",
                    "\\x3d",
                    "\\075",
                    " ",
                    ".",
                    "-",
                    "_",
                    "/",
                    "=",
                    "://",
                    "@",
                    "Basic ",
                    "Bearer ",
                ]
            ),
            st.sampled_from(["a1" * 8, "A1b2" * 10, "0123456789abcdef" * 4, "x", "slack.com/", "AccountKey="]),
        ),
        max_size=8,
    ).map("".join)
)
def test_the_cheap_look_never_says_no_where_the_patterns_find_something(text: str) -> None:
    data = text.encode()
    if token_spans(data, 0, len(data)):
        assert may_have_token(data, long_words(data))
