"""Test that each surrounding withholds what it declares, and nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .scene import Scene

pytestmark = [pytest.mark.attack, pytest.mark.rule("N1")]

FACTS = (sys.executable, "-I", "-S", str(Path(__file__).with_name("facts.py")))
NAMESPACES = ("unshare user", "unshare pid", "clone user", "mount")
NO_NAMESPACES = {**dict.fromkeys(NAMESPACES, "EPERM"), "clone3": "ENOSYS"}
NO_PIDFD = {"pidfd_open": "ENOSYS", "pidfd_send_signal": "ENOSYS", "pidfd of python": "ENOSYS"}
HAS_PIDFD = {"pidfd_open": "ok", "pidfd_send_signal": "EBADF", "pidfd of python": "ok"}
PLAIN = {"capabilities": 0, "root's files": "EACCES", "no_new_privs": "0"}

EXPECTED: dict[str, dict[str, Any]] = {
    "nothing_special": {**HAS_PIDFD, "state": "ok", "children": "ok"},
    "dockerish": {**NO_NAMESPACES, **HAS_PIDFD, "state": "ok", "children": "ok"},
    "no_namespaces": {**NO_NAMESPACES, **HAS_PIDFD},
    "devcontainer": {**NO_NAMESPACES, **PLAIN, **HAS_PIDFD},
    "plain_user": {**PLAIN, **HAS_PIDFD, "state": "ok", "children": "ok"},
    "no_pidfd": {**NO_PIDFD, "clone3": "EINVAL"},
    "python_without_pidfd": {**HAS_PIDFD, "pidfd of python": "AttributeError"},
    "gvisor_like": {**NO_NAMESPACES, **NO_PIDFD, "openat2": "ENOSYS"},
    "full_disk": {"state": "ENOSPC", "children": "ok"},
    "pids_limit_1": {**PLAIN, "children": "EAGAIN"},
    "pids_limit_2": {**PLAIN, "children": "EAGAIN"},
    "pids_limit_4": {**PLAIN, "children": "ok"},
    "pids_limit_8": {**PLAIN, "children": "ok"},
}


def test_what_a_surrounding_withholds_really_fails_in_it(scene: Scene) -> None:
    words = [word for word in FACTS if scene.name != "python_without_pidfd" or word not in ("-I", "-S")]
    done = scene.run(str(scene.place), program=words)
    assert (done.status, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    expected = EXPECTED[scene.name]
    assert {name: facts[name] for name in expected} == expected
    # A cgroup may be missing on the machine itself, and so may the right to make one.
    assert not scene.surrounding.cgroups or facts["cgroup"] != "ok"
