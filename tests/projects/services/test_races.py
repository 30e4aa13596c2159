"""What happens when two things happen at once, one step at a time. The hooks of the engine are where they meet."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from containers.engine import EngineRefusedError, EngineUnavailableError
from projects.models import Actor, Event, Project, Watch
from projects.services import suspend_project
from projects.watcher.reconcile import reconcile
from tests.fakes.engine import MemoryEngine

Act = Callable[[], object]


@pytest.fixture
def control(api: APIClient, project: Project) -> Callable[..., Any]:
    def send(action: str, query: str = "") -> Any:
        return api.post(f"/api/projects/{project.id}/control{query}", {"action": action})

    return send


def once(engine: MemoryEngine, verb: str, act: Act) -> None:
    """Do it at the beginning of the next call of the verb."""

    def hook() -> None:
        engine.slow(verb, None)
        act()

    engine.slow(verb, hook)


def after_list(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, act: Act) -> None:
    """Do it once, when the engine has made its list and nobody has read it yet."""
    observe = engine.observe

    def slow_answer(within: Any) -> Any:
        found = observe(within)
        monkeypatch.undo()
        act()
        return found

    monkeypatch.setattr(engine, "observe", slow_answer)


def held(project: Project, operation: str, *, seconds: float, **fields: object) -> None:
    """As if a server had been killed `seconds` before (or after) the deadline of an operation."""
    Project.objects.filter(pk=project.pk).update(
        operation=operation,
        operation_id=project.pk,
        operation_deadline=timezone.now() + timedelta(seconds=seconds),
        updated_at=timezone.now() - timedelta(minutes=1),
        **fields,
    )


def beat(**ago: float) -> None:
    at = timezone.now() - timedelta(**ago)
    Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults={"heartbeat_at": at})


def grow_old(project: Project) -> None:
    long_ago = timezone.now() - timedelta(minutes=1)
    Project.objects.filter(pk=project.pk).update(observed_at=long_ago, updated_at=long_ago)


def status(api: APIClient, project: Project) -> str:
    return str(api.get(f"/api/projects/{project.id}").json()["status"])


def generation(engine: MemoryEngine, project: Project) -> int:
    return engine.containers[project.container_name].observation.generation


# -- killed in the middle ---------------------------------------------------------------------------------------------


def test_a_restart_killed_between_the_old_container_and_the_new_one_is_completed(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    held(project, "restart", seconds=-1, generation=project.generation + 1)
    engine.vanish(project.container_name)
    assert reconcile().repaired == [f"recreate: {project.container_name}"]
    assert Project.objects.get().operation == ""
    assert status(api, project) == "running"


def test_a_stop_killed_before_it_could_write_leaves_no_operation_behind(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    engine.exit(project.container_name)
    reconcile(repair=False)
    held(project, "stop", seconds=-1, desired="stopped")
    reconcile()
    assert Project.objects.get().operation == ""
    assert status(api, project) == "stopped"


def test_the_heartbeat_says_nothing_of_what_a_killed_operation_left(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    grow_old(project)
    held(project, "restart", seconds=-1)
    engine.vanish(project.container_name)
    beat()
    assert status(api, project) == "crashed"
    engine.unavailable = True
    assert status(api, project) == "unknown"


def test_the_heartbeat_from_before_an_operation_ended_says_nothing_of_what_it_left(
    project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    """The restart has removed the container when the engine falls silent."""
    grow_old(project)
    beat()
    engine.fail("deploy.start", EngineUnavailableError)
    assert control("restart").status_code == 503
    assert project.container_name not in engine.containers
    assert status(api, project) == "crashed"
    engine.unavailable = True
    assert status(api, project) == "unknown"


def test_a_container_is_made_again_however_often_the_engine_falls_silent_meanwhile(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    engine.vanish(project.container_name)
    for _ in range(3):
        engine.fail("deploy.create", EngineUnavailableError)
        with pytest.raises(EngineUnavailableError):
            reconcile()
    assert reconcile().repaired == [f"recreate: {project.container_name}"]
    assert status(api, project) == "running"


def test_an_engine_that_goes_down_again_and_again_does_not_make_an_agent_vanish(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    """On its way down it stops the agents, and takes a last command or two."""
    for _ in range(3):
        before = engine.containers[project.container_name].container_id
        engine.exit(project.container_name)
        engine.fail("deploy.start", EngineUnavailableError)
        with pytest.raises(EngineUnavailableError):
            reconcile()
        assert engine.containers[project.container_name].container_id == before
        assert reconcile().repaired == [f"bring back: {project.container_name}"]
        assert status(api, project) == "running"


def test_what_an_interrupted_command_took_away_has_not_vanished(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    for _ in range(3):
        engine.pause(project.container_name)
        engine.fail("deploy.start", EngineUnavailableError)
        with pytest.raises(EngineUnavailableError):
            reconcile()
        assert not engine.containers
        assert reconcile().repaired == [f"recreate: {project.container_name}"]
        assert status(api, project) == "running"


# -- the watcher and an owner -----------------------------------------------------------------------------------------


def test_a_list_from_before_a_restart_does_not_undo_it(
    project: Project, engine: MemoryEngine, control: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.exit(project.container_name)
    after_list(engine, monkeypatch, lambda: control("start"))
    result = reconcile()
    assert (result.changed, result.repaired) == (0, [])
    row = Project.objects.get()
    assert (row.container_state, row.crash_count) == ("running", 0)
    assert generation(engine, project) == row.generation


def test_the_watcher_does_not_bring_back_what_its_owner_stops_at_that_moment(
    project: Project, engine: MemoryEngine, control: Any
) -> None:
    engine.exit(project.container_name)
    reconcile(repair=False)
    once(engine, "inspect", lambda: control("stop"))
    assert reconcile(changed_names={project.container_name}).repaired == []
    assert not engine.containers[project.container_name].is_up


def test_the_watcher_does_not_stop_what_its_owner_starts_at_that_moment(
    project: Project, engine: MemoryEngine, control: Any
) -> None:
    Project.objects.update(desired="stopped")
    once(engine, "inspect", lambda: control("start"))
    assert reconcile(changed_names={project.container_name}).repaired == []
    assert engine.containers[project.container_name].is_up


def test_a_project_deleted_in_the_middle_of_a_round_does_not_end_it(
    project: Project, engine: MemoryEngine, api: APIClient, deploy: Any
) -> None:
    other = deploy(telegramToken="999:another")
    for each in (project, other):
        engine.exit(each.container_name)
    once(engine, "inspect", lambda: api.delete(f"/api/projects/{other.id}"))
    names = {project.container_name, other.container_name}
    assert reconcile(changed_names=names).repaired == [f"bring back: {project.container_name}"]


def test_an_owner_who_decides_otherwise_meanwhile_is_no_failure_of_the_watcher(
    project: Project, engine: MemoryEngine, control: Any
) -> None:
    engine.exit(project.container_name)
    once(engine, "deploy.confirm", lambda: control("stop"))
    result = reconcile()
    assert (result.repaired, result.failed) == ([], [])
    assert not Event.objects.filter(outcome="failed").exists()


def test_an_orphan_that_cannot_be_removed_does_not_keep_the_rest_from_being_mended(
    project: Project, engine: MemoryEngine
) -> None:
    for name in ("berth-one", "berth-two"):
        orphan = engine.foreign(name, labels={"berth.instance": "berth"})
        orphan.created_at = datetime.now(UTC) - timedelta(minutes=6)
    engine.fail("remove", EngineRefusedError("The device is busy."))
    result = reconcile()
    assert len(result.failed) == len(result.repaired) == 1


def test_volumes_that_belong_to_nobody_are_removed_once_they_are_old_enough(
    project: Project, engine: MemoryEngine
) -> None:
    """A deploy lost to a deletion, and was killed when it had removed its container."""
    theirs = set(engine.volumes)
    engine.volumes |= {"berth-gone-data", "berth-gone-secrets", "other-data"}
    assert reconcile().repaired == []
    engine.volumes_since = datetime.now(UTC) - timedelta(minutes=6)
    assert reconcile(include_volumes=False).repaired == []
    assert reconcile().repaired == ["remove orphan: berth-gone"]
    assert engine.volumes == theirs | {"other-data"}


# -- a reader and an owner --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/{id}"])
def test_a_read_during_a_stop_never_takes_it_for_a_crash(
    path: str, project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    grow_old(project)
    once(engine, "observe", lambda: control("stop"))
    answer = api.get(path.format(id=project.id)).json()
    detail = answer[0] if isinstance(answer, list) else answer
    assert detail["status"] == "stopped"


def test_a_read_of_what_is_deleted_at_that_moment_says_deleting(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    grow_old(project)
    once(engine, "observe", lambda: api.delete(f"/api/projects/{project.id}"))
    assert [row["status"] for row in api.get("/api/projects").json()] == ["deleting"]
    assert api.get("/api/projects").json() == []


# -- two owners' commands ---------------------------------------------------------------------------------------------


def test_a_start_that_comes_second_finds_nothing_to_do(project: Project, engine: MemoryEngine, control: Any) -> None:
    control("stop")
    once(engine, "inspect", lambda: control("start"))
    assert control("start").status_code == 200
    assert Event.objects.filter(outcome="nothing to do").count() == 1
    assert [verb for verb, _ in engine.calls].count("deploy") == 2  # the creation, and one start


def test_a_creation_that_loses_to_a_deletion_says_so(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    once(engine, "deploy.confirm", lambda: api.delete(f"/api/projects/{Project.objects.get().id}"))
    answer = api.post("/api/projects", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "superseded")
    assert not engine.containers
    assert not engine.volumes


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_command_that_loses_to_a_deletion_finds_nothing(
    action: str, project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    control("stop")
    once(engine, "inspect", lambda: api.delete(f"/api/projects/{project.id}"))
    assert control(action).status_code == 404
    assert not engine.containers


def test_who_waits_for_what_is_deleted_meanwhile_is_told_that_it_is_gone(
    project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    engine.ready_after_deploy = False
    control("stop")
    once(engine, "observe", lambda: api.delete(f"/api/projects/{project.id}"))
    Watch.objects.all().delete()
    assert control("start", "?wait=10").status_code == 404


def test_a_suspension_that_the_engine_refuses_does_not_hold_the_project(project: Project, engine: MemoryEngine) -> None:
    engine.fail("stop", EngineRefusedError("The device is busy."))
    with pytest.raises(EngineRefusedError):
        suspend_project(project=project, actor=Actor(label="staff@example.org", source="admin"))
    assert Project.objects.get().operation == ""
    reconcile()
    assert not engine.containers[project.container_name].is_up
