"""Test other spellings of held-back commands: wrapper programs, abbreviations, other shells."""

from __future__ import annotations

import pytest

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.judging import Allowed, Denied, NeedsApproval, judge
from codex_adapter.protocols.operations.operations import ShellOperation
from codex_adapter.protocols.operations.policy import load_policy

from ...rows import rows

POLICIES = {name: load_policy(name, agents=known_places()) for name in ("restrictive", "standard", "permissive")}

ABBREVIATED = (
    *("rm --r -f d", "rm --re d", "rm -f --recursive d", "git gc --p=now", "git gc --prune=now", "git push --forc"),
    *("rsync --delete-after a b", "rsync --delete-excluded a b", "rsync --del a b", "rsync --remove-source-files a b"),
    *("git checkout HEAD .", "git checkout ./", "git checkout HEAD~1 src/a.py", "git checkout ../", "git checkout :/"),
    *("git checkout '*.py'", "git checkout a b", "git checkout --pathspec-from-file=f", "git checkout --theirs a"),
    *("chmod --rec 777 d", "kill -9 -1", "kill -KILL -1", "kill -s KILL -1", "kill -- -1", "kill -9 -- -01"),
    *("python3 -mtwine upload dist/x", "python3 -Im twine upload x", "python3.12 -W ignore -m twine upload x"),
    *("podman exec c sh", "podman container run i", "docker container exec c sh", "docker compose run app sh"),
    *("git branch -d --force x", "git branch --delete -f x", "git branch -df x", "cargo +nightly publish", "npm pub"),
    *("npm --silent publ", "npm depr a b", "cargo +stable -q yank a", "git read-tree --reset -u HEAD", "tofu destroy"),
    *("git checkout-index -f -a", "git reset --merge", "git send-pack o", "git subtree push -P d o b", "helm delete r"),
    *("docker buildx build --push .", "docker compose push", "gosu root id", "git svn dcommit"),
    *("docker compose exec app sh", "docker-compose run app", "nerdctl run i", "nerdctl compose exec a sh", "run0 id"),
)
"""What `standard` holds back, in the words of its lists."""
RUNNERS = (
    *("x86_64", "i386", "i686", "linux32", "linux64", "uname26", "aarch64", "setarch x86_64", "setarch -R", "unshare"),
    *("unshare -r --", "choom -n 0 --", "capsh --", "eatmydata", "systemd-inhibit --what=idle", "systemd-run --scope"),
    *("firejail --quiet", "bwrap --bind / /", "numactl -N 0", "chpst -u me", "gosu me", "su-exec me", "xvfb-run -a"),
    *("sshpass -p x", "dbus-run-session --", "flock f", "watch -n 1", "parallel", "entr", "strace -f", "ltrace"),
    *("gdb --args", "valgrind -q", "perf stat", "taskset -c 0", "ionice -c 3", "chrt -i 0", "stdbuf -oL", "setpriv"),
    *("busybox", "busybox.static", "toybox", "nice -n 5", "nohup", "setsid", "timeout 5", "time", "env -i", "env -C d"),
    *("prlimit --nofile=1", "proot", "fakeroot", "schroot --", "softlimit -m 1", "unbuffer", "rlwrap", "torsocks"),
    *("noglob", "nocorrect", "repeat 2", "command", "exec", "builtin", "xargs", "find . -exec", "npx", "npm exec --"),
    *("cmake -E time", "vagrant ssh -c", "ip netns exec n", "direnv exec .", "conda run -n e", "pnpm dlx", "bun x"),
    *("strange-tool", "./strange-tool --run", "strange-tool -x --", "/opt/strange/bin/tool a b"),
)
"""Programs that run, or may run, the words after them."""
TEXTS = (
    *("sh -c", "yash -c", "bash5 -c", "zsh-5.9 -c", "ksh93 -c", "lksh -c", "mksh -c", "bash-static -ec", "posh -c"),
    *("pwsh -c", "fish -c", "busybox sh -c", "busybox ash -c", "toybox sh -c", "sg staff -c", "script -qc", "watch"),
    *("capsh -- -c", "entr -s", "vim -c", "vim -es -c", "ed -s", "eval", "flock f -c", "split --filter=", "tar -I"),
    *("sort --compress-program=", "sort --compress-p=", "tar --to-command=", "tar --use-compress-program=", "tar -xI"),
    *("tar --checkpoint=1 --checkpoint-action=exec=", "tar --rsh-command=", "tar --to-c=", "rsync -e", "rsync -ave"),
    *("rsync --rsh=", "git difftool -x", "git difftool --extcmd=", "git difftool -yx", "git -C d difftool --extc="),
    *("git grep -O", "git clone -u", "git -c core.pager=", "git -c alias.x=!", "git fetch ext::", "rg --pre", "man -P"),
    *("ssh -o ProxyCommand=", "go test -exec", "zip -TT", "strange-tool -c", "strange-tool --run=", "strange-tool -c"),
    *("npx -c", "nodemon --exec", "concurrently", "xargs sh -c", "find . -exec sh -c", "su -c", "less +!", "emulate"),
    *("strange-tool run -- sh -c", "nix-shell --run", "screen -dm", "tmux new -d", "bash --rcfile x -c"),
)
"""Programs that run, or may run, the text after them."""
OF_BASH = (
    *("[ -v 'a[$(rm -rf d)]' ]", "test -v 'a[$(rm -rf d)]'", "[ -R 'a[`rm -rf d`]' ]", "[[ -v 'a[$(rm -rf d)]' ]]"),
    *("[[ 'a[$(rm -rf d)]' -eq 0 ]]", "[ 'a[$(rm -rf d)]' -eq 0 ]", "x='a[$(rm -rf d)]'; echo $((x))", "((1))"),
    *("x='a[$(rm -rf d)]'; echo $((1 + x))", "a='a['; b='$(rm -rf d)]'; x=$a$b; echo $((x))", "echo $(( a[0] ))"),
    *("for x in 'a[$(rm d)]'; do echo $((x)); done", "read x <<'E'\na[$(rm -rf d)]\nE\necho $((x))", "wait -p 'a[0]'"),
    *("echo 'a[$(rm d)]' | { read x; echo $((x)); }", "set -- 'a[$(rm -rf d)]'; echo $(($1))", "fc -s rm=sudo"),
    *(": ${x:='a[$(rm -rf d)]'}; echo $((x))", "x='a[$(rm -rf d)]'; [ \"$x\" -eq 0 ]", "shift 'a[$(rm -rf d)]'"),
    *("read 'a[$(rm -rf d)]'", "read 'a[b]' < f", "printf -v 'a[$(rm -rf d)]' x", "printf -vx %s y", "compgen -C ls"),
    *("compgen -W '$(rm -rf d)'", "complete -C 'rm -rf d' x", "mapfile -C 'rm -rf d' -c 1 x", "readarray -C ls -c1 x"),
    *("hash -p /bin/rm ls; ls -rf y", "hash ls=/bin/rm", "jobs -x rm -rf d", "enable -f ./x.so x", "enable -n test"),
    *("unset 'a[$(rm -rf d)]'", "declare -n x=y", "local -n x=y", "typeset -n x=y", "export -n x", "declare -i x=y"),
    *("export 'a[$(rm -rf d)]=1'", "declare 'a[$(rm -rf d)]=1'", "let 'a[$(rm -rf d)]'", "let 'x=a[$(rm -rf d)]'"),
    *("bind -x '\"a\":rm -rf d'", "trap 'rm -rf d' DEBUG", "PROMPT_COMMAND='rm d' sh x", "PS4='$(rm d)'; set -x; ls"),
    *("BASH_ENV=x ls", "coproc rm -rf d", "cat <(rm -rf d)", "cat >(rm -rf d)", "shopt -s extglob; ls !(a)", "a=(b)"),
    *("command_not_found_handle() { rm -rf d; }; nope", "/bin/ls() { rm -rf d; }", "a.b() { rm -rf d; }", "=rm -rf d"),
    *("ls |& rm -rf d", "exec {a}>f", "{rm,-rf,d}", "rm $'-rf' d", "echo ${x@P}", "echo ${x:a[0]}", "echo ${!x}"),
    *("readarray -t 'a[$(rm d)]' < f", "getopts a 'a[$(rm d)]'", "nameref x=y", "integer x=y", "function f { rm d; }"),
)
"""What bash, ksh or zsh executes though it is no command; neither `standard` nor `restrictive` may allow it."""
FILES = (
    *(
        "env -C .git tee config < f",
        "env --chdir=.git tee config",
        "git -C .git config core.pager x",
        "git config a.b c",
    ),
    *("env -C .git sh -c 'echo x > config'", "find .git -execdir tee config \\;", "git config --add a.b c"),
    *("git config -f .git/config a.b c", "git -C .git config --file config a.b c", "git config set a.b c"),
    *("git config --unset a.b", "git config --edit", 'env -C "$x" tee a', "git config --f=.git/config a.b c"),
)
"""What writes `.git/config` by another name, or may."""
WRITING = (
    *(
        "ruff check -o f",
        "ruff check --output-file f",
        "ruff check --output-file=f .",
        "tree -R -H x -L 1",
        "tree -o f",
    ),
    *("ruff check --config 'fix = true'", "file --compile -m a", "git blame --output=f a", "mypy --html-report d a"),
    *("mypy --install-types --non-interactive", "mypy --junit-xml=f a", "tree -RH x"),
)
"""What writes a file, under `restrictive`."""

AT_THE_END = (
    *("mksh -c 'sudo\\'", "lksh -c 'sudo\\'", "zsh -c 'sudo\\'", "mksh -c \"eval 'sudo\\\\'\"", "mksh -c 'git push\\'"),
    *("sudo\\", "mksh -c 'ls; sudo\\'", "mksh -c '`sudo\\\\`'"),
)
"""A backslash that some shells drop."""
BY_SETTINGS = (
    *("X='!sudo' git --config-env=alias.z=X z", "git --config-env alias.z=X z", "git clone -c core.sshCommand=x u"),
    *(
        "git clone -qc core.hooksPath=x u",
        "git clone --config core.fsmonitor=sudo u",
        "git clone --conf=alias.z=!sudo u",
    ),
    *("git send-pack --exec='sudo id' u", "git send-pack --receive-pack='sudo id' u", "git merge-index sudo -a"),
    *("git merge-index -o -q prog -a", "git remote-ext a 'sudo id'", "git -c tar.x.command=sudo archive HEAD"),
    *("git -c gpg.ssh.program=sudo log", "git -c gpg.ssh.defaultKeyCommand=x commit", "git -c browser.x.path=x help a"),
    *("git -c man.x.path=x help a", "git -c protocol.ext.allow=always fetch", "git -c remote.a.vcs=ext fetch a"),
    *("git -c url.ext::.insteadOf=a fetch", "git -c include.path=x z", "git -c core.hooksPath=x commit -m y"),
    *("git -c 'alias.z=!env' z sudo id", "git -c core.editor=sh commit -em 'sudo id'", "git -c $x log"),
    *("git --exec-path=d z", "git clone --template=d u", "git -c core.sshCommand=env fetch ssh://sudo/x"),
    *("git -c user.name=$x log", "git -c COMMIT.GPGSIGN=true commit", "git -c difftool.x.path=x difftool"),
)
"""Settings and subcommands of git that run a program, or may."""
BY_OPTIONS = (
    *(
        "cc -wrapper sudo,id a.c",
        "g++ -wrapper x a.c",
        "c++ -wrapper x a.c",
        "cpp -wrapper x a.c",
        "gcc-13 -wrapper x a",
    ),
    *("zip -T -TT 'sudo id' a b", "zip -T -TTsudo a b", "zip -qTT sudo a b", "zip -T --unzip-c sudo a b"),
    *("wget -e use_askpass=x u", "wget -qe use_askpass=x u", "wget --execute=use_askpass=x u", "wget --config=f u"),
    *("dpkg --pre-invoke=sudo -i a", "dpkg --post-invoke='sudo id' -i a", "apt-get -o DPkg::Pre-Invoke::=sudo update"),
    *(
        "apt-get -yo DPkg::Pre-Invoke::=x check",
        "apt-get --option=APT::Update::Pre-Invoke::=x update",
        "apt -oX=y list",
    ),
    *(
        "sqlite3 a.db '.shell sudo id'",
        "sqlite3 a.db .system\\ sudo",
        "sqlite3 -cmd '.shell id' a",
        "sqlite3 a '.read |id'",
    ),
    *(
        "sqlite3 a.db \"select edit('a', 'sudo')\"",
        "sed 1e a",
        "sed '1e sudo id' a",
        "sed -n 's/a/sudo/e' a",
        "sed e a",
    ),
    *(
        "sed -e 's/a/b/' -e '1e id' a",
        "sed 's/a/b/;e id' a",
        "sed 's|a|b|ge' a",
        "sed --expr='e id' a",
        "sed 's/x/b/w f' a",
    ),
    *("sed 's/[[:alpha:]/]#/g;#/e' a", "sed '1a x\\\\\\\\\ne id' a", "sed 's/[]/]#/g;#/e' a"),
    *("sed '/a/{s/b/c/;e id\n}' a", "sed -ne 'e id' a", 'sed "$x" a', "sed 's/[/]/x/;e id' a", "sed '\\,a,e id' a"),
)
"""Options and scripts by which other programs run one."""
BEHIND_GIT = (
    *(
        "git rebase -x reboot main",
        "git rebase -xreboot main",
        "git rebase --exec=reboot main",
        "git rebase -ix reboot",
    ),
    *("git submodule foreach reboot", "git submodule --quiet foreach --recursive 'reboot'", "git bisect run reboot"),
    *("git push --receive-pack=reboot u", "git push --exec=reboot u", "git send-pack --exec reboot u"),
    *(
        "git merge-index reboot -a",
        "git -c alias.z=!reboot z",
        "git clone -c core.sshCommand=reboot u",
        "sh -c 'reboot\\'",
    ),
    *("git filter-branch --tree-filter reboot", "g++ -wrapper reboot,x a.c"),
)
"""What every preset denies, behind a subcommand that runs it."""
PLAIN_SETTINGS = (
    *(
        "git -c color.ui=never diff",
        "git -c core.quotePath=false status",
        "git -c advice.detachedHead=false checkout v1",
    ),
    *(
        "git -c commit.gpgsign=false commit -m x",
        "git -c safe.directory='*' log",
        "git -c init.defaultBranch=main init",
    ),
    *(
        "git clone -c core.autocrlf=false u",
        "git -c core.pager= log",
        "git -c pager.log=false log",
        "git -c log.date=iso log",
    ),
    *(
        "git submodule update --init",
        "git bisect start",
        "git -c user.name='a b' commit -m x",
        "git -c credential.helper= pull",
    ),
    *(
        "sed -E 's/(a)|b/\\1e/g' a",
        "sed -n '/a/,/b/{p;q}' a",
        "sed '1i\\\ntext e' a",
        "sed -i '' -e '$d' a",
        "sed 's/[^/]*$//' a",
    ),
    *("sed 's/[[:space:]]*$//' a", "sed -i 's#[/]x#y#g;s/a/b/' a", "sed '/[/]/s/[]/]/x/' a", "sed '/a/ { p }' a"),
    *(
        "sed -n -e '/x/!p' -e '1~2d' a",
        "sed -e 's/e/e/' -e '/^e$/d' a",
        "sed -n 5,+3p a",
        "sed ':a;N;$!ba;s/\\n/ /g' a",
    ),
    *("sqlite3 a.db .tables", "sqlite3 a.db '.schema t'", "wget -qO- u", "wget -nc u", "zip -rT a b", "dpkg -l a"),
)
"""What is free, as everyday as it looks."""


def verdict(preset: str, command: str) -> str:
    return type(judge(POLICIES[preset], ShellOperation(command=command))).__name__


def with_text(program: str, text: str) -> str:
    return f"{program}'{text}'" if program.endswith(("=", "!", "::", "-O")) else f"{program} '{text}'"


def held(preset: str, commands: tuple[str, ...] | list[str]) -> None:
    assert [command for command in commands if verdict(preset, command) == "Allowed"] == []


@pytest.mark.rule("A4")
@rows("command", ABBREVIATED)
def test_what_a_list_names_is_held_back_however_it_is_abbreviated(command: str) -> None:
    held("standard", (command,))
    held("restrictive", (command,))


@pytest.mark.rule("A3", "A11")
@rows("runner", RUNNERS)
def test_a_program_that_may_run_its_arguments_is_no_way_around_a_rule(runner: str) -> None:
    commands = ["sudo id", "rm -rf d", "su\\do id", "/bin/rm --r d", "'sudo' id", "git push", "env sudo id"]
    end = " \\;" if runner.startswith("find") else ""
    for preset in ("standard", "restrictive"):
        held(preset, [f"{runner} {command}{end}" for command in commands])


@pytest.mark.rule("A3", "A11")
@rows("program", TEXTS)
def test_a_program_that_may_run_a_text_is_no_way_around_a_rule(program: str) -> None:
    for text in ("sudo id", "rm -rf d", "cd x && sudo id", 'sh -c "rm -rf d"', "env rm -r d"):
        for preset in ("standard", "restrictive"):
            held(preset, [with_text(program, text), f"cd d; {with_text(program, text)}"])


@pytest.mark.rule("A3", "A11")
@pytest.mark.parametrize(
    "command", ["x86_64 rm -rf /", "unshare reboot", "i386 reboot", "unshare -r rm -rf /", "capsh -- -c reboot"]
)
def test_what_every_preset_denies_is_denied_behind_a_program_that_runs_it(command: str) -> None:
    assert verdict("permissive", command) == "Denied"


@pytest.mark.rule("A3", "A10")
@rows("command", AT_THE_END + BY_SETTINGS + BY_OPTIONS)
def test_what_may_run_a_program_by_a_setting_an_option_or_a_script_is_held_back(command: str) -> None:
    held("standard", (command,))
    held("restrictive", (command,))


@pytest.mark.rule("A3")
@rows("command", BEHIND_GIT)
def test_what_every_preset_denies_is_denied_behind_a_subcommand_that_runs_it(command: str) -> None:
    assert verdict("permissive", command) == "Denied"


@pytest.mark.rule("A3")
@rows("command", PLAIN_SETTINGS)
def test_settings_and_scripts_that_run_nothing_are_free(command: str) -> None:
    assert verdict("standard", command) == "Allowed"


@pytest.mark.rule("A10")
@rows("command", OF_BASH)
def test_what_another_shell_would_execute_is_held_back(command: str) -> None:
    for nested in (command, f"bash -c '{command.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'"):
        held("standard", (nested,))
        held("restrictive", (nested,))


@pytest.mark.rule("A10")
def test_a_subscript_in_a_variable_of_the_operation_is_held_back() -> None:
    operation = ShellOperation(command="echo $((x))", env={"x": "a[$(rm -rf d)]"})
    for preset in ("standard", "restrictive"):
        assert isinstance(judge(POLICIES[preset], operation), NeedsApproval)
    assert judge(POLICIES["standard"], ShellOperation(command="echo $((x))", env={"x": "1"})) == Allowed()


@pytest.mark.rule("A5")
@rows("command", FILES)
def test_a_file_is_held_back_from_whichever_directory_it_is_written(command: str) -> None:
    held("standard", (command,))
    held("restrictive", (command,))


@pytest.mark.rule("A4")
@rows("command", WRITING)
def test_a_check_that_writes_is_held_back_where_only_checks_are_free(command: str) -> None:
    held("restrictive", (command,))


@pytest.mark.rule("A11")
@rows(
    "command",
    [
        *("X=sudo; strange $X id", "X='sudo id'; strange sh -c \"$X\"", "strange $(echo sudo id)", "strange s$x id"),
        *("strange `printf sudo` id", "strange ${Y:-sudo} id", 'set -- sudo id; strange "$@"', "strange {rm,-r,d}"),
        *(
            "echo sudo id | xargs strange",
            "read -r x <<'E'\nsudo\nE\nstrange $x id",
            "strange $B/sudo id",
            "strange =sudo",
        ),
        *(
            "for x in sudo; do strange $x id; done",
            "strange -c 'echo $[$(rm -r d)]'",
            "strange -c \"echo 'sudo id' | sh\"",
        ),
        *(
            'X="strange \'rm -r d\'"; strange sh -c "$X"',
            "strange 'strange \"strange sudo id\"'",
            "strange --run=rm -r d",
        ),
        *(
            "strange '$x id'",
            "strange /usr/bin/s?do id",
            "env strange sudo",
            "time X='sudo id'; strange sh -c \"$X\"",
            "export X=sudo; strange $X id",
            "time PROMPT_COMMAND='s\\udo id' bash -i",
            "time LD_PRELOAD=x ls",
            "strange sh -c 'echo $[$(s\\udo id)]'",
            "strange 'BASH_ENV=/dev/stdin bash -c : <<E\nsudo\nE\n'",
            "strange -c 'sh <<E\n${x:-sudo} id\nE\n'",
            "find . -exec strange sudo \\;",
        ),
    ],
)
def test_a_program_that_is_not_known_gets_no_held_command_in_any_form(command: str) -> None:
    held("standard", (command,))


@pytest.mark.rule("A11")
@rows(
    "command",
    ["strange src/init", "strange $x", "strange 'it is fine'", "./strange *.py", 'strange "$@"', "strange rm a"],
)
def test_a_program_that_is_not_known_is_free_without_one(command: str) -> None:
    assert verdict("standard", command) == "Allowed"


@pytest.mark.rule("A11")
def test_a_doubt_names_the_program_and_what_it_may_run() -> None:
    verdict = judge(POLICIES["standard"], ShellOperation(command="strange-tool sudo id"))
    assert verdict == NeedsApproval(
        "Program 'strange-tool' may run its arguments: Command 'sudo' (run by strange-tool) is blocked", "shell.unclear"
    )


@pytest.mark.rule("A11")
def test_a_program_that_runs_others_is_judged_by_what_it_may_run() -> None:
    verdict = judge(POLICIES["standard"], ShellOperation(command="setpriv --strange sudo id"))
    assert verdict == Denied("Command 'sudo' (run by setpriv) is blocked", "shell.deny", "Remove sudo from the command")
