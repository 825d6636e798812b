"""Test that no kind of guard leaves a process, for every system call and every error."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..needs import missing
from ..runtime.faulty_guards import CALLS, DAEMON, ENDS, ERRORS, Guards, guards, has
from ..runtime.test_guard_faults import CHILDREN, FAULTS, STEPS

pytestmark = [pytest.mark.rule("N2"), pytest.mark.attack]


@pytest.fixture(scope="module")
def played() -> Iterator[Guards]:
    with guards() as playing:
        yield playing


@pytest.mark.parametrize("call", CALLS)
def test_every_error_of_every_call_of_a_guard_leaves_nothing(played: Guards, call: str) -> None:
    for number in range(1, 5):
        for error in ERRORS:
            for lasting in (False, True):
                played.check("guard", *ENDS["adapter gone with a message unread"], (call, number, error, lasting))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("hold", ["guard", "pid_namespace", "user_namespace"])
def test_every_kind_of_guard_survives_every_call_that_fails(played: Guards, hold: str, end: str, call: str) -> None:
    if not has(played, hold):
        missing("cgroup" if hold == "cgroup" else "namespaces")
    for number in (1, 2, 4):
        for lasting in (False, True):
            played.check(hold, *ENDS[end], (call, number, errno.EIO, lasting))


@pytest.mark.parametrize("hold", ["guard", "user_namespace"])
@settings(max_examples=1000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS), children=CHILDREN, exits=st.booleans(), fault=st.one_of(st.none(), FAULTS))
def test_no_sequence_of_messages_exits_and_errors_makes_a_guard_leave_anything(
    played: Guards,
    hold: str,
    steps: list[list[str]],
    children: list[str],
    exits: bool,
    fault: tuple[str, int, int, bool] | None,
) -> None:
    script = DAEMON + "".join(f"{child} & " for child in children if child) + ("exit 3" if exits else "exec sleep 1000")
    played.check(hold, script, steps, fault)
