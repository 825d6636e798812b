"""Generate shell texts with hypothesis: nested constructs of POSIX sh, and damaged ones."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.protocols.operations.shell_stage import STUBS

__all__ = ["damaged", "texts"]

BREAK = "\\\n"
NAMES = st.sampled_from(
    [*STUBS, *STUBS, "'s0'", '"s1"', "s\\2", f"s{BREAK}0", "s'1'", '""s2', f"{BREAK}s1", "$S", "$(s0)", '"$S"']
)
PLAIN_WORDS = st.sampled_from(
    [
        "a",
        "-r",
        "a=b",
        "'b c'",
        '"b  c"',
        "a\\ b",
        "$x",
        '"$x"',
        "$nothing",
        '"$@"',
        "*",
        "a#b",
        "{a,b}",
        "'say \"s0\"'",
        '"it\'s s1"',
        f"a{BREAK}b",
        "''",
        "\\#",
        "\\;",
        "if",
        "esac",
        "}",
        "${x}",
        '"${x:-a}"',
        "${#x}",
        "$((1+2))",
        "$",
        "~",
        "[a]",
        "a\\\\",
        "'\\'",
        '"\\""',
        '"\\$S"',
        "!",
        "${x%b}",
        '"a\nb"',
        "1",
        "=",
        "--",
        "$#",
    ]
)


def quoted(text: str) -> str:
    """A text as one word for the shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def backquoted(text: str) -> str:
    """A text between backquotes."""
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$") + "`"


def _word(inside: SearchStrategy[str]) -> SearchStrategy[str]:
    wrapped = st.sampled_from(
        [
            "$({})",
            '"$({})"',
            '"a $({}) b"',
            "${{x:-$({})}}",
            "${{nothing:-$({})}}",
            "${{x#$({})}}",
            "$((1+$({}0)))",
            "$(\n{}\n)",
            "$({} # )\n)",
            "a$({})",
            '"${{nothing:-$({})}}"',
            '"$({} \'a"b\')"',
            '$({} "a)")',
        ]
    )
    return st.one_of(
        PLAIN_WORDS,
        PLAIN_WORDS,
        st.builds(lambda shape, text: shape.format(text), wrapped, inside),
        inside.map(backquoted),
        inside.map(lambda text: f'"{backquoted(text)}"'),
    )


def _simple(inside: SearchStrategy[str]) -> SearchStrategy[str]:
    word = _word(inside)
    in_front = st.one_of(
        st.just(""), st.just(""), word.map(lambda value: f"A={value} "), st.just(">f "), word.map("<{} ".format)
    )
    behind = st.sampled_from(
        ["", "", "", " >f", " 2>&1", " 2>f", " <f", " >>f", " >|f", f" >{BREAK}&2", " <&-", " <>f"]
    )
    words = st.lists(word, max_size=2).map(lambda words: "".join(f" {word}" for word in words))
    return st.builds("{}{}{}{}".format, in_front, NAMES, words, behind)


def _wrapped(simple: SearchStrategy[str], inside: SearchStrategy[str]) -> SearchStrategy[str]:
    prefixes = st.sampled_from(
        [
            "env ",
            "env -i PATH=$PATH NOTES=$NOTES ",
            "env B=1 ",
            "env -u C ",
            "command ",
            "exec ",
            "eval ",
            "nohup ",
            "nice ",
            "nice -n 1 ",
            "timeout 2 ",
            "timeout -k 1 2 ",
            "stdbuf -oL ",
            "setsid -w ",
            "xargs ",
            "s0 | xargs -n 1 ",
            "s1 | xargs -I{} ",
            "find . -maxdepth 0 -exec ",
            "! ",
            "command -v ",
            "time -p ",
            "s0 | xargs -t -r ",
        ]
    )
    texts = st.sampled_from(
        ["eval {}", "sh -c {}", "sh -ec {} a b", "trap {} EXIT", "sh -c -- {}", "timeout 2 sh -c {}"]
    )
    finished = st.builds(
        lambda prefix, command: f"{prefix}{command}" + (" \\;" if prefix.startswith("find") else ""), prefixes, simple
    )
    return st.one_of(finished, st.builds(lambda shape, text: shape.format(quoted(text)), texts, inside))


def _compound(inside: SearchStrategy[str], word: SearchStrategy[str]) -> SearchStrategy[str]:
    shapes = st.sampled_from(
        [
            "({})",
            "{{ {}\n}}",
            "if {}\nthen {}\nelse {}\nfi",
            "if bad; then {}\nelif {}\nthen {}\nfi",
            "while bad; do {}\ndone",
            "until {}\ntrue; do {}\ndone",
            "for i in {word} b; do {}\ndone",
            "for i\ndo {}\ndone",
            "f() {{ {}\n}}; f {word}",
            "case {word} in a) {}\n;; (b|*) {}\nesac",
            "case a in\n{word} ) {} ;;\n*) {} ;; esac",
            "f()\n({})\nf",
            "! {{ {}\n}}",
            "{{ {}\n}} >f",
            "({}) | s1",
            "if ({}) then {}\nfi",
            "for i in 1; do {}\ndone <f",
            "f() s1 {word}\nf",
            "{}\n# {}\n",
        ]
    )
    return st.builds(lambda shape, word, *texts: shape.format(*texts, word=word), shapes, word, inside, inside, inside)


def _document(inside: SearchStrategy[str], word: SearchStrategy[str]) -> SearchStrategy[str]:
    shapes = st.sampled_from(
        [
            "cat <<E\n$({})\nE\n",
            "cat <<'E'\n$({})\nE\n",
            "cat <<E; s0\na {back} b\nE\n",
            "cat <<-E | s1\n\t{word}\n\tE\n",
            "sh <<'E'\n{}\nE\n",
            "cat <<A <<\\B\n$({})\nA\n$(s2)\nB\n",
            "<<E s0 {word}\n\\$(s1) \\`s2 ' \"\nE\n",
            "cat <<E\n{}\n",
            'cat <<"E"\nit\'s\nE\n',
            "sh <<E\ns0 {word}\nE\n",
        ]
    )
    return st.builds(
        lambda shape, text, word: shape.format(text, back=backquoted(text), word=word), shapes, inside, word
    )


def _list(inside: SearchStrategy[str]) -> SearchStrategy[str]:
    simple = _simple(inside)
    word = _word(inside)
    command = st.one_of(simple, simple, _wrapped(simple, inside), _compound(inside, word))
    separators = st.sampled_from(["\n", "; ", " && ", " || ", " | ", "|\n", " & ", "&&\n", f" {BREAK}; "])
    joined = st.builds("{}{}{}".format, command, separators, command)
    return st.one_of(command, joined, _document(inside, word))


texts: SearchStrategy[str] = st.recursive(_simple(st.sampled_from(STUBS)), _list, max_leaves=6)
"""Texts that dash mostly understands; nothing in them has a slash, an endless loop or a builtin that does harm."""

damaged: SearchStrategy[str] = st.builds(
    lambda text, place, gone, added: text[: place % (len(text) + 1)] + added + text[place % (len(text) + 1) + gone :],
    texts,
    st.integers(0, 200),
    st.integers(0, 2),
    st.sampled_from(
        ["", "'", '"', "`", "\\", "$", "(", ")", "\n", ";", "#", "}", "{", "<<E\n", " ", "\\\n", "&", "|", "0"]
    ),
)
"""The same with a mistake at one place."""
