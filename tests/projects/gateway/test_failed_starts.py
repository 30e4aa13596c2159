"""If a start fails and the former container keeps running, the gateway knows that one."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from containers.errors import EngineRefusedError, ImageMissingError, ImageNotPulledError, NameTakenError
from containers.gateway.vocabulary import Reach
from projects.errors import UnusableSettingsError
from projects.models import Project
from projects.rules.permissions import Egress
from projects.services.container_spec import build_spec
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, entry_of, knows
from tests.projects.gateway.reaching import reach_of

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]


def refused(engine: MemoryEngine, _: pytest.MonkeyPatch) -> None:
    engine.fail("deploy", EngineRefusedError)


def without_image(engine: MemoryEngine, _: pytest.MonkeyPatch) -> None:
    engine.fail("deploy", ImageMissingError, times=2)  # the image that it ran, and that of its type


def not_pulled(engine: MemoryEngine, _: pytest.MonkeyPatch) -> None:
    engine.fail("deploy", ImageNotPulledError)  # it is not lost, and no other one replaces it


def name_taken(engine: MemoryEngine, _: pytest.MonkeyPatch) -> None:
    engine.fail("deploy", NameTakenError)


def unusable(_: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [UnusableSettingsError("They do not fit.")]

    def refuse_once(*given: Any) -> Any:
        if faults:
            raise faults.pop()
        return build_spec(*given)

    monkeypatch.setattr("projects.services.commands.start_and_stop.build_spec", refuse_once)


FAULTS = [refused, without_image, not_pulled, name_taken, unusable]
Fault = Callable[[MemoryEngine, pytest.MonkeyPatch], None]


@pytest.mark.parametrize(("fault", "egress"), list(product(FAULTS, Egress)))
def test_a_failed_start_keeps_its_address(
    engine: MemoryEngine, project: Project, control: Control, fault: Fault, egress: Egress, monkeypatch: Any
) -> None:
    before = Egress.INTERNET if egress is Egress.GATEWAY else Egress.GATEWAY
    Project.objects.update(own_egress=before)
    assert control(project, "restart").status_code == 200
    container = engine.containers[project.container_name].container_id
    Project.objects.update(own_egress=egress)
    fault(engine, monkeypatch)
    assert control(project, "restart").status_code >= 400
    assert engine.containers[project.container_name].container_id == container
    assert engine.containers[project.container_name].is_up
    assert reach_of(engine, project) is Reach(before)  # by the container's address and the entry's
    assert knows(engine, project)
    assert control(project, "stop").status_code == 200
    assert entry_of(engine, project) is None
    assert control(project, "start").json()["status"] == "running"
    assert reach_of(engine, project) is Reach(egress)
    assert counts_for(engine, project) == (True, True)


def test_a_failed_start_does_not_keep_an_address_that_is_taken(
    engine: MemoryEngine, project: Project, control: Control, deploy: Callable[..., Project]
) -> None:
    """Otherwise the gateway would mistake two agents at one address for each other."""
    other, former = deploy(telegramToken="555:another-bot"), str(project.address)

    def give_away() -> None:
        Project.objects.filter(pk=other.pk).update(address=former)

    engine.slow("deploy", give_away)
    engine.fail("deploy", EngineRefusedError)
    Project.objects.filter(pk=project.pk).update(own_egress=Egress.GATEWAY)
    assert control(project, "restart").status_code >= 400
    assert Project.objects.get(address=former) == other
    assert Project.objects.get(pk=project.pk).address not in {former, None}


def test_an_agent_from_before_the_gateway_stays_outside(
    engine: MemoryEngine, without_gateway: Project, control: Control
) -> None:
    """Nothing is expected from the gateway's sightings, and the next start moves it behind the gateway."""
    project = without_gateway
    engine.fail("deploy", EngineRefusedError)
    assert control(project, "restart").status_code >= 400
    project.refresh_from_db()
    assert not project.is_behind_gateway
    assert engine.secrets_of(project.container_name)["agent_api_key"] == CANARY_API_KEY
    reconcile()
    look_after_gateway()
    assert knows(engine, project)
    assert control(project, "restart").json()["status"] == "running"
    assert counts_for(engine, project) == (True, True)
