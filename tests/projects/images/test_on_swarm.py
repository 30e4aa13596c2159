"""Updates of an image on a real Swarm of one node: the new image stays, or the old one returns with its memory."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from containers.swarm.engine import SwarmEngine
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL
from containers.vocabulary import ContainerState
from projects.models import AgentType, Event, Plan, Project
from projects.watcher.reconcile.full import reconcile
from tests.busybox import pack_root
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import swarm_installation, swarm_under_test  # noqa: F401 - fixtures
from tests.containers.inside import run_inside
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.deploying import create_project
from tests.fakes.states import unpack_state
from tests.projects.images.test_killed_updates import KILLED_IN
from tests.projects.images.test_on_docker import SPOILS
from tests.projects.images.updating import look, told
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.one_database]

LEARNS = "#!/bin/sh\ntrap 'exit 0' TERM\necho learned >/data/new\n"
LEARNS += 'echo \'AGENT-STATUS {"v":1,"state":"running","code":"","detail":""}\'\nwhile :; do sleep 1 & wait $!; done\n'
PRECIOUS = {"note": "precious\n"}
ROUNDS = 30


class Killed(BaseException):
    """The watcher's process ends here."""


@pytest.fixture
def precious(
    api: APIClient,
    swarm_under_test: SwarmUnderTest,  # noqa: F811 - the fixture
    settings: Any,
) -> Iterator[Project]:
    """A project that runs and keeps something. `SPOILS` and `LEARNS` are images that its type does not have yet."""
    settings.BERTH_ENGINE_CLASS = "containers.swarm.engine.SwarmEngine"
    settings.BERTH_GATEWAY = False
    client = swarm_under_test.client
    add_offers(AgentType, Plan, swarm_under_test.image)
    project = create_project(api, {"name": "Careful", "type": "stub", "plan": "chaos"})
    swarm_under_test.name = project.container_name
    wait_until(lambda: runs(swarm_under_test, project))
    container = swarm_under_test.container_of(project.container_name)
    assert run_inside(client, container, "sh", "-c", "echo precious >/data/note")[0] == 0
    for tag, script in (("spoils", SPOILS), ("learns", LEARNS)):
        # It has nothing that could copy a memory.
        root = pack_root({"agent": script}, applets=("sh", "echo", "sleep"))
        client.import_image_from_data(root, repository="berth-test/update", tag=tag, changes=['CMD ["/agent"]'])
    reconcile()
    yield project
    for tag in ("spoils", "learns"):
        client.remove_image(f"berth-test/update:{tag}", force=True)


def runs(under_test: SwarmUnderTest, project: Project) -> bool:
    seen = under_test.engine.inspect(project.container_key)
    return seen is not None and seen.state is ContainerState.RUNNING


def update(api: APIClient, project: Project, tag: str) -> None:
    AgentType.objects.filter(pk="stub").update(image=f"berth-test/update:{tag}")
    assert api.post(f"/api/projects/{project.pk}/update").status_code == 202


def look_until_over(project: Project) -> None:
    for _ in range(ROUNDS):
        with suppress(EngineUnavailableError):  # it ends the round, and the watcher continues with the next one
            reconcile()
        Project.objects.exclude(reconcile_again_at=None).update(reconcile_again_at=timezone.now())
        if not Project.objects.get(pk=project.pk).update_step:
            return
    pytest.fail(f"The update never ends: {told(project)}")


def check(under_test: SwarmUnderTest, project: Project, *, image: str, files: dict[str, str]) -> None:
    spec = under_test.client.inspect_service(project.container_name)["Spec"]
    assert spec["TaskTemplate"]["ContainerSpec"]["Image"] == image
    assert COPIED_ON_LABEL not in spec["Labels"]
    assert under_test.is_running(project.container_name)
    assert unpack_state(under_test.kept()) == files
    assert under_test.volumes(project.container_name) == {f"{project.container_name}-data"}
    notes = [each["Spec"]["Labels"] for each in under_test.client.configs()]
    assert not [labels for labels in notes if COPIED_ON_LABEL in labels]


def require_running(api: APIClient, project: Project) -> None:
    def is_running() -> bool:
        reconcile()
        return bool(api.get(f"/api/projects/{project.pk}").json()["status"] == "running")

    wait_until(is_running)


def id_of(under_test: SwarmUnderTest, tag: str) -> str:
    return str(under_test.client.inspect_image(f"berth-test/update:{tag}")["Id"])


@pytest.mark.rare(3)
def test_an_image_that_fails_is_replaced_by_the_old_one_with_its_memory(
    api: APIClient,
    swarm_under_test: SwarmUnderTest,  # noqa: F811 - the fixture
    precious: Project,
) -> None:
    old = Project.objects.get(pk=precious.pk).image_id
    update(api, precious, "spoils")
    look_until_over(precious)
    assert told(precious) == ["recorded", "started", "given up", "undone"]
    assert "The new image ended" in Event.objects.get(project_id=precious.pk, outcome="given up").detail
    assert Event.objects.get(project_id=precious.pk, outcome="undone").detail == ""
    check(swarm_under_test, precious, image=old, files=PRECIOUS)
    require_running(api, precious)
    assert api.delete(f"/api/projects/{precious.pk}").status_code in {200, 202, 204}
    reconcile()
    assert swarm_under_test.volumes(precious.container_name) == set()


@pytest.mark.rare(3)
def test_an_image_that_works_stays_with_what_it_has_learned(
    api: APIClient,
    swarm_under_test: SwarmUnderTest,  # noqa: F811 - the fixture
    precious: Project,
) -> None:
    update(api, precious, "learns")
    look_until_over(precious)
    assert told(precious) == ["recorded", "started", "done"]
    new = id_of(swarm_under_test, "learns")
    check(swarm_under_test, precious, image=new, files={**PRECIOUS, "new": "learned\n"})


@pytest.mark.rare(4)
@pytest.mark.sampled(9)
@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize(("call", "is_way_back"), KILLED_IN)
def test_a_watcher_that_is_killed_anywhere_loses_nothing(
    api: APIClient,
    swarm_under_test: SwarmUnderTest,  # noqa: F811 - the fixture
    precious: Project,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    *,
    is_way_back: bool,
    where: str,
) -> None:
    old = Project.objects.get(pk=precious.pk).image_id
    update(api, precious, "spoils" if is_way_back else "learns")
    if is_way_back:
        while told(precious)[-1] == "recorded":
            reconcile()
    real = getattr(SwarmEngine, call)

    def kill(*args: Any, **options: Any) -> Any:
        if where == "after":
            real(*args, **options)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(SwarmEngine, call, kill)
        with pytest.raises(Killed):
            look(ROUNDS)
    Project.objects.exclude(operation="").update(operation_deadline=timezone.now())
    look_until_over(precious)
    if told(precious)[-1] == "done":
        new = id_of(swarm_under_test, "learns")
        check(swarm_under_test, precious, image=new, files={**PRECIOUS, "new": "learned\n"})
    else:
        assert told(precious)[-1] == "undone"
        check(swarm_under_test, precious, image=old, files=PRECIOUS)
    require_running(api, precious)
