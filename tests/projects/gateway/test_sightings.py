"""The gateway's sightings count: for agents without reports, and before an agent's own reports."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts import clock
from containers.vocabulary import Health
from projects.models import Project
from projects.services.gateway.provisioning import describe_trouble, is_in_trouble
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway

pytestmark = pytest.mark.django_db


@pytest.fixture
def see(gateway: MemoryGateway, project: Project) -> Callable[..., None]:
    """The gateway sees something of Alice's agent, and the watcher reads it."""

    def see(**what: float | str | None) -> None:
        now = clock.now().timestamp()
        at = {f"{name.removesuffix('_status')}_at": now for name in what if name.endswith("_status")}
        gateway.see(str(project.pk), **{**at, **what})
        look_after_gateway()
        reconcile()

    return see


def told(api: Any, project: Project) -> tuple[str, str]:
    answer = api.get(f"/api/projects/{project.pk}").json()
    return answer["status"], (answer["status_reason"] or {"code": ""})["code"]


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ({"telegram_status": 401}, "telegram_token"),
        ({"telegram_status": 409}, "telegram_conflict"),
        ({"provider_status": 401}, "provider_key"),
        ({"provider_status": 402}, "provider_credit"),
    ],
)
def test_a_silent_agent_is_degraded_and_recovers(
    project: Project, see: Any, api: Any, what: dict[str, int], code: str
) -> None:
    see(**what)
    assert told(api, project) == ("degraded", code)
    see(**dict.fromkeys(what, 200), last_poll=clock.now().timestamp())
    assert told(api, project) == ("running", "")


def test_the_list_agrees_with_the_detail(project: Project, see: Any, api: Any) -> None:
    assert api.get("/api/projects").json()[0]["status"] == "running"
    see(provider_status=401)
    assert api.get("/api/projects").json()[0]["status"] == "degraded"


def test_only_the_agent_reports_a_server_that_is_down(project: Project, see: Any, api: Any) -> None:
    see(telegram_status=502, provider_status=503)
    assert told(api, project) == ("running", "")


def test_the_gateway_overrides_a_contradicting_agent(
    engine: MemoryEngine, project: Project, see: Any, api: Any
) -> None:
    engine.set_health(project.container_name, Health.UNHEALTHY)
    engine.report(project.container_name, "degraded", "provider_key")
    see(provider_status=None)
    assert told(api, project) == ("degraded", "provider_key")
    see(provider_status=200)
    assert told(api, project) == ("running", "")


def test_a_crash_without_a_report_has_a_reason(engine: MemoryEngine, project: Project, see: Any, api: Any) -> None:
    see(telegram_status=401)
    for _ in range(6):
        engine.crash(project.container_name, exit_code=1)
        reconcile()
    assert told(api, project) == ("crashed", "telegram_token")


HOSTS = "172.30.0.1"


def test_an_address_changed_by_a_rule_is_reported_to_owner_and_staff(
    engine: MemoryEngine, project: Project, see: Any, api: Any
) -> None:
    now = clock.now().timestamp()
    see(astray_at=now, astray_from=HOSTS, astray=3)
    assert told(api, project) == ("degraded", "source_address")
    assert HOSTS in describe_trouble()
    assert "BERTH_GATEWAY=off" not in describe_trouble(), "The gateway works."
    assert is_in_trouble()
    see(astray_at=now - 121)
    assert told(api, project) == ("running", "")
    assert describe_trouble() == ""


@pytest.mark.parametrize(
    ("exit_code", "code"), [(20, "source_address"), (30, "source_address"), (32, "provider_model")]
)
def test_an_ended_agent_s_credential_is_not_blamed(
    engine: MemoryEngine, project: Project, see: Any, api: Any, exit_code: int, code: str
) -> None:
    see(astray_at=clock.now().timestamp(), astray_from=HOSTS, astray=1)
    engine.crash(project.container_name, exit_code=exit_code)
    for _ in range(2):
        reconcile()
        look_after_gateway()  # its entry is void by then, and the sightings are forgotten
    assert told(api, project) == ("crashed", code)


def test_a_refusal_by_telegram_takes_precedence(project: Project, see: Any, api: Any) -> None:
    see(telegram_status=401, astray_at=clock.now().timestamp(), astray_from=HOSTS, astray=1)
    assert told(api, project) == ("degraded", "telegram_token")


def test_a_new_key_begins_with_a_clean_slate(project: Project, see: Any, api: Any) -> None:
    """The old key was refused. A refusal of the new one is another sighting."""
    see(provider_status=401)
    api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY})
    assert told(api, project) == ("running", "")
    look_after_gateway()
    assert told(api, project) == ("running", "")
    see(provider_status=401)
    assert told(api, project) == ("degraded", "provider_key")


def test_a_start_does_too(project: Project, see: Any, api: Any) -> None:
    see(telegram_status=409)
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).json()["status"] == "running"
    look_after_gateway()
    assert told(api, project) == ("running", "")


def test_polls_are_noted_once_a_minute(project: Project, see: Any, gateway: MemoryGateway) -> None:
    first = clock.now().timestamp() + 1
    see(last_poll=first)
    see(last_poll=first + 30)
    project.refresh_from_db()
    assert project.polled_at is not None
    assert project.polled_at.timestamp() == pytest.approx(first)
    see(last_poll=first + 61)
    project.refresh_from_db()
    assert project.polled_at.timestamp() == pytest.approx(first + 61)
    assert project.first_polled_at is not None
    assert project.first_polled_at.timestamp() == pytest.approx(first)
    assert project.started_at is not None
    project.started_at += timedelta(seconds=90)
    project.save(update_fields=["started_at"])
    see(last_poll=first + 95)
    project.refresh_from_db()
    assert project.first_polled_at.timestamp() == pytest.approx(first + 95)


@pytest.mark.parametrize("moment", [-1e30, 1e30, 0.0, 1e11])
def test_moments_that_no_calendar_has_do_no_harm(project: Project, see: Any, api: Any, moment: float) -> None:
    see(last_poll=moment, telegram_status=401, telegram_at=moment, budget_reached=moment)
    assert told(api, project)[0] in {"running", "degraded"}


def test_an_agent_from_before_the_gateway_is_not_judged_by_it(
    engine: MemoryEngine, without_gateway: Project, gateway: MemoryGateway, api: Any
) -> None:
    gateway.see(str(without_gateway.pk), telegram_status=401, telegram_at=clock.now().timestamp())
    look_after_gateway()
    reconcile()
    assert told(api, without_gateway) == ("running", "")
