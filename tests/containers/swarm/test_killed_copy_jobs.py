"""A process is killed after any change while it copies a memory, restores it, or removes the copy."""

from collections.abc import Callable

import pytest

from containers.docker_api.client import Connection
from containers.swarm.notes.copied_states import CopiedStates
from containers.swarm.states.copies import Copies
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL
from tests.containers.swarm.copying import (
    AWAY,
    HERE,
    KEY,
    LABELS,
    OLD,
    SPOILED,
    CopyingManager,
    Killed,
    bind,
    copies,
    copy_on,
    copying_swarm,
    kill_after,
    state_on,
)

pytestmark = pytest.mark.one_database

Act = Callable[[Copies], object]
MANY = 40
"""More changes than any of these acts makes."""


def keep(found: Copies) -> None:
    found.keep(KEY, image="i", labels=LABELS, most=0)


def give_back(found: Copies) -> None:
    assert found.give_back(KEY)


def drop(found: Copies) -> None:
    found.drop(KEY)


ACTS: list[Act] = [keep, give_back, drop]


def prepare(swarm: CopyingManager, act: Act, place: str) -> None:
    """Does everything that comes before this act in an update."""
    if act is keep:
        return
    keep(copies())
    bind(swarm, place)
    if act is give_back:
        swarm.volumes[state_on(place)] = SPOILED


def check_done(swarm: CopyingManager, act: Act, place: str) -> None:
    note = CopiedStates(Connection()).find(KEY)
    assert swarm.volumes[state_on(place)] == OLD
    assert swarm.jobs == []
    if act is drop:
        assert (note, swarm.rows["configs"]) == (None, [])
        assert not swarm.volumes.get(copy_on(place))
        spec = swarm.agent["Spec"]
        assert COPIED_ON_LABEL not in spec["Labels"]
        assert spec["TaskTemplate"]["Placement"]["Constraints"] in (["node.labels.a != b"], [])
    else:
        assert note == (place, True, "i")
        assert swarm.volumes[copy_on(place)] == OLD


@pytest.mark.every_case
@pytest.mark.parametrize("place", [HERE, AWAY])
@pytest.mark.parametrize("act", ACTS)
def test_a_process_that_is_killed_after_any_change_is_continued_by_the_next(
    monkeypatch: pytest.MonkeyPatch, act: Act, place: str
) -> None:
    for changes in range(MANY):
        with copying_swarm(monkeypatch, place) as swarm:
            prepare(swarm, act, place)
            with monkeypatch.context() as patch:
                kill_after(patch, changes)
                try:
                    act(copies())
                except Killed:
                    is_over = False
                else:
                    is_over = True
            act(copies())
            check_done(swarm, act, place)
            if act is keep:
                drop(copies())
                check_done(swarm, drop, place)
        if is_over:
            return
    pytest.fail("It never ends.")


@pytest.mark.parametrize("place", [HERE, AWAY])
@pytest.mark.parametrize("act", ACTS)
def test_a_job_of_a_killed_process_is_ended_before_anything_else(
    monkeypatch: pytest.MonkeyPatch, act: Act, place: str
) -> None:
    """The job is still running when the next process begins."""
    if act is drop and place == HERE:
        pytest.skip("It needs no job.")
    for following in (act, drop):
        with copying_swarm(monkeypatch, place) as swarm:
            prepare(swarm, act, place)
            swarm.stalls = True
            with monkeypatch.context() as patch:
                patch.setattr("containers.swarm.states.copy_jobs.time.sleep", lambda _: _kill(patch))
                with pytest.raises(Killed):
                    act(copies())
            assert len(swarm.jobs) == 1
            swarm.stalls = False
            copies().before_start(KEY)
            assert swarm.jobs == []
            assert all(task["Status"]["State"] != "running" for task in swarm.rows["tasks"])
            following(copies())
            if following is act or act is keep:
                check_done(swarm, following, place)
            assert swarm.jobs == []


def _kill(patch: pytest.MonkeyPatch) -> None:
    kill_after(patch, 0)
    raise Killed
