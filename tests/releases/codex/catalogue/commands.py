"""Define cases in which the model runs shell commands, in each sandbox and with each end."""

from __future__ import annotations

from codex_adapter.testing.scenario import Keys, Shell, answer, script

from .case import Case, Run

__all__ = ["CASES"]


def _case(name: str, about: str, command: str, run: Run | None = None) -> Case:
    return Case(name=name, about=about, scenario=script(Shell(command), "Done."), runs=(run or Run(),))


def _interrupted(name: str, signal: str) -> Case:
    command = Shell("echo begin; sleep 30; echo never")
    return Case(
        name=name,
        about=f"The CLI gets {signal} while a command runs.",
        scenario=script(answer("starting", command), "never"),
        runs=(Run(signal=signal),),
    )


CASES = (
    _case("shell_ok", "A command that prints on both streams.", "echo hello; echo err >&2; ls"),
    _case("shell_fail", "A command that fails.", "echo before; exit 3"),
    Case(
        name="shell_three",
        about="Three commands at once, one of which fails.",
        scenario=script(answer(Shell("exit 7"), Shell("echo a; sleep 0.3"), Shell("echo b")), "Done."),
    ),
    _case("shell_empty_output", "A command that prints nothing.", "true"),
    _case("shell_notfound", "A command that is not there.", "no_such_command_xyz"),
    _case("shell_signal", "A command that dies of a signal.", "kill -9 $$"),
    _case("shell_slow", "A command that takes its time.", "echo begin; sleep 2; echo end"),
    _case("shell_long_output", "A command that prints a megabyte.", "head -c 1000000 /dev/zero | tr '\\0' x"),
    _case("shell_many_lines", "A command that prints ten thousand lines.", "seq 10000"),
    _case(
        "shell_quotes", "A command of several lines, with quotes in quotes.", "echo 'a \"b\" c' \\\n && echo \"d 'e'\""
    ),
    _case("shell_bg", "A command that leaves a process behind.", "(sleep 300 >/dev/null 2>&1 &) ; echo started"),
    _case(
        "shell_binary",
        "Output that is no text.",
        r"printf 'a\xff\xfe\x00b\x1b[31mred\x1b[0m\r\n\xe2\x80\xa8'",
    ),
    _case("shell_denied", "A write outside of the workspace.", "echo x > /etc/codex_probe_denied; echo rc=$?"),
    _case(
        "stderr_noise",
        "A command that opens its standard error by name, and lists its files.",
        "echo visible >/dev/stderr; echo fd; ls /proc/self/fd",
    ),
    Case(
        name="exec_session",
        about="A command on a terminal that is left running, and typed into.",
        scenario=script(
            Shell("echo s1; sleep 2; echo s2; read x; echo got $x", {"tty": True, "yield_time_ms": 1000}),
            Keys("", 3.0),
            Keys("hey\n", 2.0),
            "Done.",
        ),
    ),
    Case(
        name="exec_unfinished",
        about="A command that is left running when the turn ends.",
        scenario=script(Shell("echo s1; sleep 8; echo s2", {"yield_time_ms": 500}), "Done."),
    ),
    _case("sandbox_ro", "A write in the read-only sandbox.", "echo x > f.txt; echo rc=$?", Run(sandbox="read-only")),
    _case(
        "sandbox_full", "A write without a sandbox.", "echo x > f.txt; echo rc=$?", Run(sandbox="danger-full-access")
    ),
    _case(
        "add_dir",
        "A write into a second directory.",
        "echo x > ../extra/f.txt; echo rc=$?",
        Run(add_dirs=("../extra",)),
    ),
    Case(
        name="on_request",
        about="A command that asks to leave the sandbox, where nobody can be asked.",
        scenario=script(
            Shell("touch f.txt", {"sandbox_permissions": "require_escalated", "justification": "to see"}), "Done."
        ),
        runs=(Run(approval="on-request"),),
    ),
    _interrupted("sig_int_cmd", "SIGINT"),
    _interrupted("sig_hup_cmd", "SIGHUP"),
    _interrupted("sig_quit_cmd", "SIGQUIT"),
    _interrupted("sig_term_cmd", "SIGTERM"),
    _interrupted("sig_kill_cmd", "SIGKILL"),
)
