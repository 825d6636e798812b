"""Execute shell texts in a sandbox where harmless substitutes record calls of `sudo` and `rm`."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

__all__ = ["SHELLS", "CanaryStage", "available"]

SHELLS = {"dash": ("dash",), "bash": ("bash",), "busybox": ("busybox", "sh"), "mksh": ("mksh",), "zsh": ("zsh", "-f")}
"""The words with which each shell is started, before `-c`."""
TOOLS = (
    "bash busybox capsh cat choom chroot chrt dash echo ed env false find flock git head ionice ksh less "
    "ln man mksh nice nohup perl prlimit printf python3 script setarch setpriv setsid sg sh sort split "
    "stdbuf tar taskset tee test time timeout true unshare vim watch xargs zsh x86_64 i386 linux32 "
    "linux64 uname26"
)
NICKNAMES = {"bash5": "bash", "zsh-5.9": "zsh", "strange-sh": "dash", "busybox.static": "busybox"}
CANARY = """\
#!/bin/sh
case "${0##*/} $*" in rm\\ *-*[rR]*|sudo*) echo "$0 $*" >> /mnt/notes/ran ;; esac
"""
STRANGE = """\
#!/bin/sh
while :; do
    case "$1" in
        --) shift; break ;;
        --run=*\\ *) exec sh -c "${1#--run=}" ;;
        --run=*) program=${1#--run=}; shift; exec "$program" "$@" ;;
        -c*\\ *) exec sh -c "${1#-c}" ;;
        -*) shift ;;
        *) break ;;
    esac
done
case "$1" in *\\ *) exec sh -c "$1" ;; esac
exec "$@"
"""
SECONDS = 6
"""How long a text may run."""


def available(shell: str) -> bool:
    """Return whether texts can be executed by a shell here."""
    if not all(map(shutil.which, (SHELLS[shell][0], "bwrap", "git"))):
        return False
    trial = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"], check=False, capture_output=True)
    return trial.returncode == 0


class CanaryStage:
    """A directory that a sandboxed shell sees as `/mnt`; everything else is read-only."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.place = directory / "place"
        self.programs = directory / "bin"
        self.fresh = directory / "fresh"
        for path in (self.programs, self.fresh, directory / "notes"):
            path.mkdir()
        for name, script in (("sudo", CANARY), ("rm", CANARY), ("strange", STRANGE)):
            (self.programs / name).write_text(script)
            (self.programs / name).chmod(0o755)
        for name, target in {**{tool: tool for tool in TOOLS.split()}, **NICKNAMES}.items():
            program = shutil.which(target)
            if program is not None:
                (self.programs / name).symlink_to(program)
        self._fill()

    def ran(self, shell: str, text: str) -> bool:
        """Return whether a shell that executes a text runs a stand-in."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.fresh, self.place, symlinks=True)
        note = self.directory / "notes" / "ran"
        note.unlink(missing_ok=True)
        words = [
            "bwrap",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--tmpfs",
            "/mnt",
        ]
        words += [
            "--ro-bind",
            str(self.programs / "rm"),
            shutil.which("rm") or "/bin/rm",
            "--unshare-all",
            "--die-with-parent",
        ]
        words += ["--bind", str(self.directory), "/mnt", "--new-session", "--clearenv", "--chdir", "/mnt/place"]
        words += ["--setenv", "PATH", "/mnt/bin", "--setenv", "B", "/mnt/bin", "--setenv", "HOME", "/mnt/place", "--"]
        argv = [*words, *SHELLS[shell], "-c", text]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
        return note.exists()

    def _fill(self) -> None:
        for name, content in (("f", "one\ntwo\n"), ("big", "".join(f"{number}\n" for number in range(20_000)))):
            (self.fresh / name).write_text(content)
        (self.fresh / "d").mkdir()
        (self.fresh / "bin").symlink_to("../bin")
        (self.fresh / "strange").symlink_to("../bin/strange")
        run = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(self.fresh)]
        for words in (["init", "-q"], ["add", "f"], ["commit", "-qm", "x"]):
            subprocess.run([*run, *words], check=True, capture_output=True)
        (self.fresh / "f").write_text("one\ntwo\nthree\n")
        subprocess.run(["tar", "-C", str(self.fresh), "-cf", str(self.fresh / "a.tar"), "f"], check=True)
