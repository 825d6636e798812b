"""Test that a guard leaves no process for any input, child behaviour or failed system call."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..needs import missing
from .faulty_guards import CALLS, DAEMON, ENDS, ERRORS, Guards, guards, has

pytestmark = pytest.mark.rule("N2")

STEPS = st.one_of(
    st.sampled_from([["hear"], ["ready"], ["answer"], ["say", "4b"], ["say", "530f"], ["say", "53ff"], ["say", ""]]),
    st.binary(max_size=4).map(lambda message: ["say", message.hex()]),
)
FAULTS = st.tuples(st.sampled_from(CALLS), st.integers(1, 6), st.sampled_from(ERRORS), st.booleans())
CHILDREN = st.lists(st.sampled_from(["", "sleep 0.01", "setsid sleep 0.02", "setsid sh -c 'sleep 1000 & exit'"]))


@pytest.fixture(scope="module")
def played() -> Iterator[Guards]:
    with guards() as playing:
        yield playing


@pytest.mark.parametrize("hold", ["guard", "pid_namespace", "user_namespace"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.fault(
    "signals", "A signal kills the adapter before it reads the agent's status", "The guard still ends the run"
)
def test_a_guard_leaves_nothing_however_its_run_ends(played: Guards, hold: str, end: str) -> None:
    if not has(played, hold):
        missing("cgroup" if hold == "cgroup" else "namespaces")
    result = played.check(hold, *ENDS[end], None, wait=60)
    if ["hear"] in ENDS[end][1][1:]:
        assert result.heard == "PX"  # its true status


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.fault("resources", "A system call of a guard fails, once or permanently", "The guard leaves no process")
def test_a_guard_of_which_a_system_call_fails_leaves_nothing(played: Guards, call: str) -> None:
    for number, lasting in ((1, True), (2, False), (3, True)):
        played.check("guard", *ENDS["adapter gone with a message unread"], (call, number, errno.EPERM, lasting))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=6), children=CHILDREN, exits=st.booleans(), fault=st.one_of(st.none(), FAULTS))
def test_a_guard_leaves_nothing_whatever_it_hears(
    played: Guards,
    steps: list[list[str]],
    children: list[str],
    exits: bool,
    fault: tuple[str, int, int, bool] | None,
) -> None:
    script = DAEMON + "".join(f"{child} & " for child in children if child) + ("exit 3" if exits else "exec sleep 1000")
    played.check("guard", script, steps, fault)


def test_a_guard_that_can_kill_nothing_says_so(played: Guards) -> None:
    script, steps = ENDS["adapter gone"]
    result = played.check("guard", script, steps, ("os.kill", 1, errno.EPERM, True), wait=60)
    assert result.status == 1
    assert result.left == result.left_then > 0
