"""Generate shell texts that run `sudo`, or `rm` on a directory, in various spellings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from random import Random

__all__ = ["spellings"]

RUNNERS = (
    *(
        "env {}",
        "env -i PATH=$PATH {}",
        "env A=1 {}",
        "env -u A {}",
        "nice {}",
        "nice -n 5 {}",
        "nohup {}",
        "setsid -w {}",
    ),
    *(
        "timeout 5 {}",
        "timeout -k 1 5 {}",
        "stdbuf -oL {}",
        "command {}",
        "exec {}",
        "builtin {}",
        "time {}",
        "time -p {}",
    ),
    *(
        "x86_64 {}",
        "i386 {}",
        "linux64 {}",
        "uname26 {}",
        "setarch -R {}",
        "setarch x86_64 {}",
        "unshare {}",
        "choom -n 0 -- {}",
    ),
    *(
        "unshare -r {}",
        "ionice -c 3 {}",
        "chrt -b 0 {}",
        "taskset -c 0 {}",
        "prlimit {}",
        "prlimit --nofile=64 {}",
        "flock f {}",
    ),
    *(
        "setpriv {}",
        "setpriv --reuid 0 {}",
        "busybox env {}",
        "busybox nice {}",
        "busybox time {}",
        "busybox timeout 5 {}",
    ),
    *(
        "xargs {} <f",
        "echo x | xargs -r {}",
        "echo x | xargs -I% {}",
        "xargs -n1 {} <f",
        "find . -maxdepth 0 -exec {} \\;",
    ),
    *(
        "find . -maxdepth 0 -execdir {} +",
        "env -C . {}",
        "strange {}",
        "strange --some {}",
        "strange -x -- {}",
        "./strange {}",
    ),
    *(
        "capsh -- -c '\"$@\"' x {}",
        "script -qec 'exit' f; {}",
        "noglob {}",
        "nocorrect {}",
        "repeat 1 {}",
        "- {}",
        "jobs -x {}",
    ),
    *(
        "xargs -a f {}",
        "busybox xargs {} <f",
        "coproc {}",
        "strange nice {}",
        "chroot / {}",
        "setarch --addr-no-randomize {}",
    ),
)
"""What runs the words after it."""
TEXTS = (
    *(
        "sh -c {}",
        "bash -c {}",
        "dash -c {}",
        "mksh -c {}",
        "zsh -c {}",
        "ksh -c {}",
        "busybox sh -c {}",
        "busybox ash -c {}",
    ),
    *("eval {}", "trap {} EXIT", "flock f -c {}", "script -qc {} f", "capsh -- -c {}", "sg root -c {}", "sg root {}"),
    *("echo {} | sh", "printf %s {} | bash", "sh -ec {} a b", "bash -o errexit -c {}", "zsh-5.9 -c {}", "bash5 -c {}"),
    *(
        "strange-sh -c {}",
        "strange sh -c {}",
        "env -S {}",
        "split --filter={} f",
        "split --filt={} f",
        "tar -cf t.tar -I {} f",
    ),
    *("tar -cf t.tar --use-compress-program={} f", "tar -cf t.tar --checkpoint=1 --checkpoint-action=exec={} f f f f"),
    *(
        "tar -xf a.tar --to-command={}",
        "tar -xf a.tar --to-c={}",
        "tar --to-command {} -xf a.tar",
        "git -c alias.x=!{} x",
    ),
    *(
        "git -c core.fsmonitor={} status",
        "git -c core.editor={} commit --amend",
        "git difftool -yx {}",
        "git difftool -y --extcmd={}",
    ),
    *(
        "git fetch ext::{}",
        "git -c diff.external={} diff",
        "git grep -O{} two",
        "git -c protocol.ext.allow=always fetch ext::{}",
    ),
    *(
        "GIT_EDITOR={} git commit --amend",
        "xargs sh -c {} <f",
        "find f -exec sh -c {} \\;",
        "vim -es -c {vim} -c q",
        "sort -S 1b --compress-program={} big",
    ),
    *(
        "echo {ed} | ed -s f",
        "emulate sh -c {}",
        "alias x={}; x",
        "sh <<'E'\n{plain}\nE\n",
        "bash <<E\n{plain}\nE\n",
        "sh /dev/stdin <<'E'\n{plain}\nE\n",
    ),
    *(
        ". /dev/stdin <<'E'\n{plain}\nE\n",
        "bash <(echo {})",
        "sh -s <<'E'\n{plain}\nE\n",
        'x={}; eval "$x"',
        'x={}; sh -c "$x"',
    ),
    *(
        'x={}; strange sh -c "$x"',
        'set -- {}; eval "$1"',
        "for x in {}; do eval $x; done",
        "read -r x <<'E'\n{plain}\nE\neval $x",
    ),
    *(
        "bash --norc -c {}",
        "bash -lc {}",
        "zsh -fc {}",
        "PS4={sub}; set -x; :",
        "BASH_ENV=/dev/stdin bash -c : <<'E'\n{plain}\nE\n",
    ),
    *(
        "ENV={} sh -ic :",
        "mapfile -C {} -c 1 x <f",
        "readarray -C{} -c1 x <f",
        "compgen -C {} x",
        "compgen -W {sub}",
        "complete -C {} x",
    ),
    *(
        "bind -x '\"a\":'{}",
        "trap {} DEBUG; :",
        "trap {} ERR; false",
        "trap -- {} 0",
        "PROMPT_COMMAND={} bash -i </dev/null",
    ),
    *(
        "command_not_found_handle() {{ eval {}; }}; nope",
        "man -P {} man",
        "less +!{} f",
        "rsync -e {} a: b",
        "ssh -o ProxyCommand={} h",
    ),
    *(
        "watch -g -n 1 {}",
        "python3 -c 'import os; os.system('{}')'",
        "busybox.static sh -c {}",
        "git -c core.pager={} --paginate log",
    ),
)
"""What runs a text, quoted as one word; `{plain}` is the text as it is, `{sub}` the text in a quoted substitution."""
CONSTRUCTS = (
    *(
        "{}; :",
        "( {} )",
        "{{ {}; }}",
        "! {}",
        "if {}; then :; fi",
        "while {}; do break; done",
        "case x in x) {} ;; esac",
    ),
    *(
        "f() {{ {}; }}; f",
        "true && {}",
        "false || {}",
        "{} | cat",
        "{} &\nwait",
        "echo $({})",
        'echo "$({})"',
        'echo "`{}`"',
    ),
    *(
        "cat <<E\n$({})\nE\n",
        "x=$({})",
        "echo ${{x:-$({})}}",
        "echo $((1 + $({})))",
        ": ${{x:=$({})}}",
        "export x=$({})",
    ),
    *(
        "for i in 1; do {}; done",
        "until {}; do break; done",
        "# x\n{}",
        "echo a; {}",
        "cat <({})",
        "cat f > >({})",
        "((1)); {}",
    ),
    *(
        "{} 2>&1 >f",
        ">f {}",
        "2>&1 {}",
        "A=1 {}",
        "time {}",
        "select x in a; do {}; done <f",
        "function f {{ {}; }}; f",
        "[[ -f f ]] && {}",
    ),
    *(
        "for ((;;)); do {}; break; done",
        "a=($({}))",
        "cat <<< $({})",
        "echo ${{ {}; }}",
        "echo $[$({}) + 1]",
        "() {{ {}; }}",
        "if [ -f f ]\nthen\n{}\nfi",
    ),
)
SUBSCRIPTS = (
    *(
        "[ -v {} ]",
        "test -v {}",
        "[ -R {} ]",
        "[[ -v {} ]]",
        "[[ {} -eq 0 ]]",
        "[ {} -eq 0 ]",
        "test 0 -eq {}",
        "x={}; echo $((x))",
    ),
    *(
        "x={}; echo $((1 + x))",
        "x={}; : $((y = x))",
        "echo $(({}))",
        "(({}))",
        "let {}",
        "let x={}",
        "read {} <f",
        "printf -v {} x",
    ),
    *(
        "unset {}",
        "declare -i x={}",
        "typeset -i x={}",
        "declare {}=1",
        "export {}=1",
        "readonly {}=1",
        "shift {}",
        "printf %d {}",
    ),
    *(
        "set -- {}; echo $(($1))",
        "for x in {}; do echo $((x)); done",
        ": ${{x:={}}}; : $((x))",
        "echo {} | {{ read -r x; : $((x)); }}",
    ),
    *(
        "echo {} | while read -r x; do : $((x)); done",
        "read -r x <<'E'\n{plain}\nE\n: $((x))",
        'x={}; [ "$x" -eq 0 ]',
        "wait -p {} $!",
    ),
    *(
        "mapfile {} <f",
        "getopts a {} -a",
        "x={}; echo ${{y:x}}",
        "x={}; echo ${{a[x]}}",
        "a[{}]=1",
        "x={}; a[x]=1",
        "local {}",
        "exit {}",
    ),
    *(
        "x={}; y=x; echo $((y))",
        "x={}; let y=x",
        "x={}; declare -i y=x",
        "integer x={}",
        "x={}; for ((i=x;i<1;i++)); do :; done",
        "return {}",
    ),
    *(
        "x={}; bash -c 'echo $((x))'",
        "export x={}; bash -c 'echo $((x))'",
        "x={} bash -c 'echo $((x))'",
        "env x={} bash -c 'echo $((x))'",
    ),
    *(
        "env x={} zsh -c 'echo $((x))'",
        'x={}; test "$x" -gt 0',
        "ulimit -n {}",
        "umask {}",
        "break {}",
        'x={}; printf %d "$x"',
        "sleep {}",
    ),
)
"""What evaluates a subscript."""
EXTRA = (
    *(
        "hash -p $B/{0} ls; ls {rest}",
        "hash ls=$B/{0}; ls {rest}",
        "ln -s $B/{0} ls; ./ls {rest}",
        "exec 3<f; {all}",
        "=$B/{0} {rest}",
    ),
    *(
        "X={0}; $X {rest}",
        "X={0}; strange $X {rest}",
        'set -- {all}; "$@"',
        'set -- {all}; strange "$@"',
        "strange $(echo {all})",
    ),
    *(
        "strange `printf {0}` {rest}",
        'f() {{ "$@"; }}; f {all}',
        'f() {{ strange "$@"; }}; f {all}',
        "X=${{Y:-{0}}}; strange $X {rest}",
    ),
    *(
        "strange ${{Y:-{0}}} {rest}",
        "echo {all} | xargs strange",
        "echo {all} | xargs env",
        "for x in {0}; do strange $x {rest}; done",
    ),
    *(
        "read -r x <<'E'\n{0}\nE\nstrange $x {rest}",
        "alias ls={0}; ls {rest}",
        "{{{0},{rest}}}",
        "$'{0}' {rest}",
        "'{0}' {rest}",
        "enable -f ./x.so {0}",
    ),
    *(
        "find . -maxdepth 0 -exec strange {all} \\;",
        "strange '{all}'",
        "strange --run='{all}'",
        "strange --run={0} {rest}",
        "strange -c'{all}'",
    ),
)
"""What needs the name of the program by itself."""


def spellings(seed: int, count: int) -> Iterator[str]:
    """Yield texts that differ from each other."""
    random = Random(seed)
    seen: set[str] = set()
    while len(seen) < count:
        text = _spelling(random)
        if text not in seen:
            seen.add(text)
            yield text


def _spelling(random: Random) -> str:
    text = _extra(random) if random.random() < 0.15 else _command(random)
    for _ in range(random.randint(0, 2)):
        text = random.choice((_in_text, _in_text, _in_construct, _in_subscript))(random, text)
    return text


def _words(random: Random) -> list[str]:
    recursive = random.choice(("-r", "-rf", "-fr", "-R", "--recursive", "--r", "--rec", "-f -r", "-vr"))
    return random.choice((["sudo", "id"], ["rm", *recursive.split(), "d"]))


def _command(random: Random) -> str:
    name, *rest = _words(random)
    if random.random() < 0.7:
        name = random.choice(_NAMES)(name)
    rest = [random.choice((str, str, str, shlex.quote, _double, _split))(word) for word in rest]
    text = random.choice((" ", " ", "  ", " \\\n ", "\t")).join([name, *rest])
    for _ in range(random.choice((0, 1, 1, 2))):
        text = random.choice(RUNNERS).replace("{}", text)
    return text


def _extra(random: Random) -> str:
    name, *rest = _words(random)
    return random.choice(EXTRA).format(name, rest=" ".join(rest), all=" ".join([name, *rest]))


def _in_text(random: Random, text: str) -> str:
    quoted = random.choice((shlex.quote, shlex.quote, _double))(text)
    substituted = shlex.quote(f"$({text})")
    editor = shlex.quote(f"!{text}")
    shape = random.choice(TEXTS)
    return shape.format(quoted, plain=text, sub=substituted, vim=editor, ed=editor)


def _in_construct(random: Random, text: str) -> str:
    return random.choice(CONSTRUCTS).format(text)


def _in_subscript(random: Random, text: str) -> str:
    inner = random.choice(("a[$({})]", "a[`{}`]", "a[$({})0]", "a[0+$({})]")).format(text)
    return random.choice(SUBSCRIPTS).format(random.choice((shlex.quote, _double))(inner), plain=inner)


def _double(text: str) -> str:
    escaped = "".join(f"\\{character}" if character in '$`"\\' else character for character in text)
    return f'"{escaped}"'


def _split(word: str) -> str:
    return f"{word[:1]}''{word[1:]}"


_NAMES: tuple[Callable[[str], str], ...] = (
    *(
        shlex.quote,
        _double,
        _split,
        lambda name: f"'{name}'",
        lambda name: f"\\{name}",
        lambda name: f"{name[0]}\\{name[1:]}",
    ),
    *(
        lambda name: f"{name[0]}\\\n{name[1:]}",
        lambda name: f"$B/{name}",
        lambda name: f'"$B"/{name}',
        lambda name: f"$(echo {name})",
    ),
    *(
        lambda name: f"`echo {name}`",
        lambda name: f"${{x:-{name}}}",
        lambda name: f"${{x-{name}}}",
        lambda name: f"$B/{name[:-1]}?",
    ),
    *(
        lambda name: f"$B/[{name[0]}]{name[1:]}",
        lambda name: f"{{{name},}}",
        lambda name: f"$'{name}'",
        lambda name: f'$"{name}"',
    ),
    *(
        lambda name: f"$(printf %s {name})",
        lambda name: f"bin/../bin/{name}",
        lambda name: f"./bin/{name}",
        lambda name: f"={name}",
    ),
)
