"""An operation whose process has ended is over, long before its deadline; any other is waited for."""

import os
import subprocess
import sys
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from projects.models import Project
from projects.models.operation import Claim
from projects.models.processes import holder
from projects.models.processes.holder import has_ended, name_holder
from projects.rules.status.lifecycle import Desired, Operation
from projects.services.operations import time_allowed
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.changed import look_at
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later, status_of

pytestmark = pytest.mark.one_database


@pytest.fixture(scope="module")
def ended() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def claimed_by(project: Project) -> Callable[[int], Claim]:
    """Claims the project for a restart as the process with this id would."""

    def claim(number: int) -> Claim:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "getpid", lambda: number)
            made = project.claim(Operation.RESTART, lasting=time_allowed(), desired=Desired.RUNNING)
        assert made is not None
        return made

    return claim


def test_an_operation_of_a_killed_process_is_finished_at_once(
    project: Project, engine: MemoryEngine, claimed_by: Callable[[int], Claim], ended: int
) -> None:
    claim = claimed_by(ended)
    assert reconcile().repaired == [f"bring back: {project.container_name}"]
    assert status_of(project) == "running"
    assert not project.record(claim)  # it no longer writes anything
    row = Project.objects.get()
    assert (row.operation, row.operation_holder) == ("", "")


def test_an_event_about_a_project_in_operation_is_left_to_the_next_round(
    project: Project, engine: MemoryEngine, claimed_by: Callable[[int], Claim], ended: int
) -> None:
    """Operations cause most events and record their outcome themselves, so such an event costs only one query."""
    claim = claimed_by(ended)
    engine.calls.clear()
    with CaptureQueriesContext(connection) as queries:
        look_at([project.container_key], RunEnds())
    assert len(queries) == 1
    assert (Project.objects.get().operation_id, engine.calls) == (claim.id, [])
    reconcile()
    assert status_of(project) == "running"


def test_the_engine_is_asked_again_about_a_killed_operation(
    project: Project, engine: MemoryEngine, claimed_by: Callable[[int], Claim], ended: int
) -> None:
    """The list may be from before the last act of the killed process."""
    claimed_by(ended)
    later(project, generation=project.generation - 1)  # so that nothing has to be replaced
    engine.calls.clear()
    reconcile()
    assert ("inspect", project.container_key) in engine.calls


def test_an_operation_is_waited_for_as_long_as_its_process_lives(
    project: Project, engine: MemoryEngine, claimed_by: Callable[[int], Claim]
) -> None:
    claim = claimed_by(os.getpid())
    engine.vanish(project.container_name)
    assert reconcile().repaired == []
    assert status_of(project) == "restarting"
    assert project.record(claim)


def test_a_process_that_may_live_has_not_ended(ended: int) -> None:
    """It is alive, or of another user, boot, PID namespace or claim, or unnamed or malformed."""
    claim_id = uuid4()
    name = name_holder(claim_id).replace(f" {os.getpid()}", f" {ended}")
    boot, _, numbers = name.split(" ")[1].partition("/")
    assert has_ended(name, claim_id)
    for holder_name in (
        name_holder(claim_id),
        name.replace(f" {ended}", " 1"),
        name.replace(f" {ended}", " 0"),
        name.replace(f" {ended}", " -1"),
        name.replace(boot, str(uuid4())),
        name.replace(f"/{numbers} ", "/1 "),
        name.replace(claim_id.hex, uuid4().hex),  # the present one is of an older server
        "",
        f"{name} 1",
    ):
        assert not has_ended(holder_name, claim_id), holder_name


def test_without_a_boot_id_no_process_is_considered_dead(monkeypatch: pytest.MonkeyPatch, ended: int) -> None:
    monkeypatch.setattr(holder, "_find_place", lambda: "")
    claim_id = uuid4()
    assert name_holder(claim_id) == ""
    assert not has_ended(f"{claim_id.hex}  {ended}", claim_id)
    assert not has_ended("", None)
