"""Define the six kinds of processes that the agent's shell tool starts to avoid detection."""

from __future__ import annotations

from tests.real.oracle import VARIABLE, Process

__all__ = ["CLEARED", "KINDS", "command", "kind_of"]

KINDS = ("foreground", "background", "own session", "deaf", "daemon", "cleared")
CLEARED = "cleared"
"""The kind that has lost every mark: what the table of rule N1 calls so."""
_SECONDS = {"background": "601", "own session": "602", "deaf": "603", "daemon": "604"}
_QUIET = ">/dev/null 2>&1 </dev/null"


def command(word: str) -> str:
    """Shell commands that start all six, say so in the named pipe `up`, and go on until they are told in `go`.

    `word` stands in an argument of the one that clears its environment: nothing else tells whose it is.
    """
    number = _SECONDS
    return "\n".join(
        [
            f"sleep {number['background']} {_QUIET} &",
            f"(setsid sleep {number['own session']} {_QUIET} &)",
            f"(trap '' TERM INT HUP; setsid sleep {number['deaf']} {_QUIET} &)",
            f"(cd / && setsid sh -c 'sleep {number['daemon']} & exit' {_QUIET} &)",
            f"(setsid env -i bash -c 'exec -a {CLEARED}-{word} sleep 605' {_QUIET} &)",
            "echo up >up",
            "head -n 1 go",
        ]
    )


def kind_of(process: Process) -> str:
    """The kind of a process that was left, else the name of its program."""
    argv = process.argv or ("a zombie",)
    if VARIABLE.encode() not in process.environment and f"{CLEARED}-" in " ".join(argv):
        return CLEARED
    for kind, seconds in _SECONDS.items():
        if argv == ("sleep", seconds):
            return kind
    return "foreground" if argv[0] == "head" else argv[0].rpartition("/")[2]
