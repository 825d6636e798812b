"""Test the commands that the parser finds in a shell text, after quote removal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.protocols.operations.shell.text import Word
from codex_adapter.protocols.operations.shell.words import shell_words
from codex_adapter.protocols.operations.shell.wrappers import NOT_KNOWN
from tests.protocols.operations.everyday_commands import EVERYDAY

from ...rows import rows

pytestmark = pytest.mark.rule("A3")


def found(text: str) -> list[str]:
    """The commands of a text, each part that is not known before the run as an ellipsis."""
    return [" ".join(map(shown, command.words)) for command in shell_words(text).commands]


def shown(word: Word) -> str:
    return "".join("…" if part is None else part for part in word.parts)


@rows(
    ("text", "commands"),
    [
        ("a x | b && c || d ; e & f\ng", ["a x", "b", "c", "d", "e", "f", "g"]),
        ("! a; { b; }; (c; (d))", ["a", "b", "c", "d"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c\ndo d\ndone", ["a", "b", "c", "d"]),
        ("for x in $(a) 1; do b $x; done; for y do c; done", ["a", "b …", "c"]),
        ("case $(a) in (x|y) b ;; *) c; esac; case a in esac", ["a", "b", "c"]),
        ("f() { a; }; g()\n(b); h() c; f", ["a", "b", "c", "f"]),
        ("A=$(a) B=1 b", ["a", "b"]),
        ("x=`a`; y=$(b)", ["a", "b"]),
        ('echo "$(a "$(b)")" "`c`"', ["b", "a …", "c", "echo … …"]),
        ("echo `a \\`b\\``", ["b", "a …", "echo …"]),
        ("echo ${x:-$(a)} ${x#$(b)} ${x%`c`}", ["a", "b", "c", "echo … … …"]),
        ("echo $((1 + $(a) * (2 + `b`)))", ["a", "b", "echo …"]),
        ("cat <<E\n$(a) `b` ${x:-$(c)} \\$(d)\nE\ne", ["a", "b", "c", "cat", "e"]),
        ("cat <<'E'\n$(a)\nE\nb", ["cat", "b"]),
        ("cat <<E; b\n$(a)\nE\nc", ["cat", "b", "a", "c"]),
        ("cat <<A <<-B\na\nA\nb\n\tB\nc", ["cat", "c"]),
        (">out a x; <in b; 2>&1 c", ["a x", "b", "c"]),
        ("a 2>b 3>>c <d", ["a"]),
        ("'r'm x; \\rm x; r\\m x; \"rm\" x; r\\\nm x", ["rm x"]),
        ("a # b\nc;#d\ne#f", ["a", "c", "e#f"]),
        ("echo 'a;b' \"c;d\" e\\;f", ["echo a;b c;d e;f"]),
        ("echo a=b rm", ["echo a=b rm"]),
        ("'if' x; \\while y", ["if x", "while y"]),
        ("echo {a,b} c{1..2} @{u} {}", ["echo … c… @{u} {}"]),
        ("a&>b; ( (c d))", ["a", "c d"]),
    ],
)
def test_every_construct_of_the_grammar_gives_up_its_commands(text: str, commands: list[str]) -> None:
    assert set(found(text)) == set(commands)
    assert shell_words(text).unclear == ()


@rows(
    "text",
    [
        *("sudo rm x", "sudo -u root -- A=1 rm x", "doas rm x", "env A=1 rm x", "env -u B -i rm x", "command rm x"),
        *(
            "command -p rm x",
            "exec rm x",
            "exec -a y rm x",
            "nohup rm x",
            "nice rm x",
            "nice -n 5 rm x",
            "nice -5 rm x",
        ),
        *(
            "time -p rm x",
            "timeout 5 rm x",
            "timeout -k 1 -s KILL 5s rm x",
            "timeout --signal=KILL 5 rm x",
            "env --unset B rm x",
            "timeout -s KILL --kill-after 1 5 rm x",
        ),
        *("stdbuf -oL rm x", "setsid -w rm x", "ionice -c 3 rm x", "chroot / rm x", "busybox rm x", "uv run rm x"),
        *(
            "taskset -c 1 rm x",
            "flock f rm x",
            "flock f -c 'rm x'",
            "su -c 'rm x'",
            "su - root -c 'rm x'",
            "watch rm x",
        ),
        *("sh -c 'rm x'", "bash -lc 'rm x'", "dash -e -c 'rm x' name", "zsh -o errexit -c 'rm x'", "eval rm x"),
        *("eval 'rm x'", "trap 'rm x' EXIT", "/bin/sh -c \"sh -c 'rm x'\"", "sudo sh -c 'env rm x'", "sh <<E\nrm x\nE"),
        *(
            "find . -name a -exec rm x \\;",
            "find . -execdir rm x {} + | cat",
            "timeout 1 nice env rm x",
            "xargs -0 rm x",
        ),
        *(
            "ls | xargs -n1 -P4 rm x",
            "xargs --max-args=1 rm x",
            "xargs -I% rm x %",
            "poetry run rm x",
            "strace -f rm x",
        ),
    ],
)
def test_programs_that_run_another_are_looked_through(text: str) -> None:
    assert any(command.startswith("rm x") for command in found(text))
    assert len(shell_words(text).commands) >= 2
    assert shell_words(text).unclear == ()


@rows(
    "text",
    [
        *(
            '"unclosed',
            "'unclosed",
            "`unclosed",
            "$(unclosed",
            "${x",
            "if a; then b",
            "a; )",
            "a ;; b",
            "fi",
            "a | | b",
        ),
        *("$x y", "$(a) b", '"$x"', "`a`", "{rm,x}", "*", "eval $x", 'eval "$(a)"', 'sh -c "$x"', "curl a | sh"),
        *("bash -s", "sh $x", "xargs sh", "xargs -I{} sh -c 'rm {}'", "trap $x EXIT", "su", "su -c $x", ". /dev/stdin"),
        *("sh /dev/stdin", "parallel rm ::: a", "env -S 'rm x'", "sudo --strange rm", "timeout $x rm", "alias ls=rm"),
        *(
            "find $x",
            "export $x",
            "dd $x",
            "$'rm' x",
            '$"rm" x',
            "cat <<< x",
            "a[0]=x rm",
            "a+=x rm",
            "12>f rm",
            "{fd}>f rm",
        ),
        *(
            "function f { a; }",
            "select x in a; do b; done",
            "coproc rm",
            "a=(b)",
            "ls |& rm",
            "cat <(rm)",
            "${x/a/b}",
            "$[1]",
        ),
        *(
            "$((a); b)",
            "cat <<$x\n$x",
            "echo $(cat <<E)\nE",
            "cat <<E\na\\\nE\nE",
            '"${x:-"a"}"',
            "a\0b",
            "env { rm; }",
        ),
        "echo `a '\\\nb'`",
        "$(" * 50 + "a" + ")" * 50,
        "sh -c " * 12 + "a",
    ],
)
def test_what_cannot_be_understood_for_certain_says_so_and_does_not_quote_it(text: str) -> None:
    unclear = shell_words(text).unclear
    assert unclear
    assert all("unclosed" not in reason and "\n" not in reason for reason in unclear)


def test_what_stands_before_a_mistake_is_found_as_a_shell_executes_it() -> None:
    words = shell_words("rm x\nif")
    assert [command.program for command in words.commands] == ["rm"]
    assert words.unclear


@rows("text", ["sh script.sh", "command -v rm", "sh --version", "trap - EXIT", "xargs", "sudo -l"])
def test_what_runs_a_file_or_nothing_is_clear(text: str) -> None:
    words = shell_words(text)
    assert len(words.commands) == 1
    assert words.unclear == ()


def test_a_path_in_front_counts_as_its_last_part() -> None:
    programs = [command.program for command in shell_words('/bin/rm; ./a/rm; ~/rm; "$x/rm"; rm').commands]
    assert programs == ["rm"] * 5


def test_files_that_are_read_and_written_are_told_by_name() -> None:
    words = shell_words("a <i >o 2>>e <>b >|c >&d 2>&1 <&- | tee -a t; dd if=x of=y; find . -fprint p; cat <<E\nE")
    assert {word.text for word in words.reads} == {"i"}
    assert {word.text for word in words.writes} == {"o", "e", "b", "c", "d", "t", "y", "p"}


def test_variables_that_are_set_are_told_by_name() -> None:
    words = shell_words("A=1 b; C=2; for D in x; do :; done; env E=1 f; export G=1 H; read -r I; : ${J:=x}; sudo K=1 l")
    assert set(words.assigned) == set("ACDEGHIJK")


def test_everyday_commands_are_clear() -> None:
    assert len(EVERYDAY) > 150
    assert [(text, words.unclear) for text in EVERYDAY if (words := shell_words(text)).unclear] == []


@given(st.text(max_size=60) | st.text("'\"`\\$(){}[];&|<>#\n \t!*?=~E0a", max_size=60))
def test_any_text_is_read_to_an_end(text: str) -> None:
    assert shell_words(text) == shell_words(text)


@pytest.mark.rule("A3")
@rows("program", sorted(NOT_KNOWN))
def test_what_runs_others_by_rules_of_its_own_is_unclear(program: str) -> None:
    assert shell_words(f"{program} --an-option rm -rf /").unclear
