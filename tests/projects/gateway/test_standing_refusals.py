"""A refusal that the gateway has seen stands until it has seen the contrary, or the credential is another one."""

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from containers.vocabulary import Health
from projects.models import Project
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.spending import Clock

pytestmark = pytest.mark.django_db

CODES = {
    "token": "telegram_token", "polling": "telegram_conflict", "key": "provider_key", "permission": "provider_key",
    "credit": "provider_credit",
}  # fmt: skip
"""The code for each fact that may be refused, the most important first."""

Find = Callable[..., tuple[str, str]]


@pytest.fixture
def find(engine: MemoryEngine, gateway: MemoryGateway, project: Project, time: Clock, api: Any) -> Find:
    """A second passes, the gateway finds out whether these facts are refused, and the watcher looks."""

    def find(**refused: bool | None) -> tuple[str, str]:
        time.now += timedelta(seconds=1)
        if refused:
            gateway.find(str(project.pk), at=time.now.timestamp(), **refused)
        look_after_gateway()
        reconcile()
        answer = api.get(f"/api/projects/{project.pk}").json()
        return answer["status"], (answer["status_reason"] or {"code": ""})["code"]

    return find


@pytest.mark.parametrize("fact", CODES)
def test_a_refusal_outlives_the_gateway(gateway: MemoryGateway, find: Find, fact: str) -> None:
    """Until the same is accepted. That something else is accepted says nothing."""
    assert find(**{fact: True}) == ("degraded", CODES[fact])
    for other in ({}, *({each: False} for each in CODES if each != fact)):
        gateway.restart()
        assert find() == ("degraded", CODES[fact])
        assert find(**other) == ("degraded", CODES[fact])
    gateway.restart()
    assert find(**{fact: False}) == ("running", "")
    gateway.restart()
    assert find() == ("running", "")


@pytest.mark.parametrize(("first", "second"), list(permutations(CODES, 2)))
def test_of_two_refusals_none_is_forgotten(gateway: MemoryGateway, find: Find, first: str, second: str) -> None:
    find(**{first: True})
    gateway.restart()
    order = list(CODES)
    assert find(**{second: True}) == ("degraded", CODES[min(first, second, key=order.index)])
    gateway.restart()
    assert find(**{first: False}) == ("degraded", CODES[second])
    assert find(**{second: False}) == ("running", "")


@pytest.mark.parametrize("fact", CODES)
def test_a_new_credential_clears_only_its_own_refusal(
    gateway: MemoryGateway, project: Project, find: Find, api: Any, fact: str
) -> None:
    find(**{fact: True})
    mine, other = {"apiKey": CANARY_OTHER_API_KEY}, {"telegramToken": "77:another-bot"}
    if fact in ("token", "polling"):
        mine, other = other, mine
    assert api.patch(f"/api/projects/{project.pk}", other).status_code == 200
    assert find() == ("degraded", CODES[fact])
    assert api.patch(f"/api/projects/{project.pk}", mine).status_code == 200
    assert find() == ("running", ""), "Also while the gateway still shows what it saw before."


def test_a_new_key_forgets_no_poll(gateway: MemoryGateway, project: Project, time: Clock, find: Find, api: Any) -> None:
    gateway.see(str(project.pk), last_poll=time.now.timestamp() + 1)
    find(token=False)
    before = Project.objects.values("polled_at", "first_polled_at").get()
    assert before["first_polled_at"] is not None
    assert api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY}).status_code == 200
    assert Project.objects.values("polled_at", "first_polled_at").get() == before


@pytest.mark.parametrize("fact", CODES)
def test_a_start_begins_with_a_clean_slate(
    gateway: MemoryGateway, project: Project, find: Find, control: Any, time: Clock, fact: str
) -> None:
    find(**{fact: True})
    time.now += timedelta(seconds=1)
    assert control(project, "restart").json()["status"] == "running"
    assert find() == ("running", "")
    assert find(**{fact: True}) == ("degraded", CODES[fact])


def test_an_agent_may_know_a_refusal_that_the_gateway_does_not_understand(
    engine: MemoryEngine, project: Project, find: Find
) -> None:
    """What it reported before a success is refuted, and what it reports after an error in unknown words is not."""
    engine.set_health(project.container_name, Health.UNHEALTHY)
    engine.report(project.container_name, "degraded", "provider_credit")
    assert find() == ("degraded", "provider_credit")
    assert find(credit=False) == ("running", "")
    assert find(credit=None) == ("degraded", "provider_credit")
    engine.report(project.container_name, "degraded", "provider_busy")
    assert find(credit=False) == ("degraded", "provider_busy")
    assert find(credit=True) == ("degraded", "provider_credit")
    assert find(credit=None) == ("degraded", "provider_credit"), "A doubt refutes nothing."


def test_a_row_of_the_version_before_is_understood(gateway: MemoryGateway, find: Find) -> None:
    Project.objects.update(seen_code="provider_key", seen_well="telegram")
    assert find() == ("degraded", "provider_key")
    assert find(credit=False) == ("degraded", "provider_key")
    assert find(key=False) == ("running", "")


@pytest.mark.parametrize("ahead", [-7200, -2, 0, 2, 7200])
def test_the_gateway_s_clock_need_not_be_ours(
    gateway: MemoryGateway, project: Project, time: Clock, api: Any, control: Any, ahead: int
) -> None:
    """A refusal from before a start does not count and one from after it does, no matter what clock its machine has."""

    def clock() -> float:
        return time.now.timestamp() + ahead

    gateway.clock = clock

    def find(**refused: bool) -> str:
        time.now += timedelta(seconds=5)
        gateway.find(str(project.pk), at=clock(), **refused) if refused else None
        gateway.see(str(project.pk), last_poll=clock())
        look_after_gateway()
        return Project.objects.get().seen_code

    assert find(key=True) == "provider_key"
    time.now += timedelta(seconds=5)
    assert control(project, "restart").status_code == 200
    assert find() == ""
    polled_at = Project.objects.get().polled_at
    assert polled_at is not None
    assert abs(polled_at - time.now) <= timedelta(seconds=1)
    assert find(key=True) == "provider_key"
    assert find(key=False) == ""
    time.now += timedelta(seconds=200)
    look_after_gateway()
    assert Project.objects.get().seen_code == "unresponsive", "The last poll is not taken for a present one."
