"""A budget that is nearly spent, spent, changed, and reset: status, events and mails show it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail

from accounts.models import OutgoingMail
from projects.models import Actor, Event, Project
from projects.rules.budget import Budget
from projects.services.limits import budgets
from projects.services.limits.budgets import grant_budget
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.entries import entry_of
from tests.projects.gateway.spending import NOON, Clock, shown, subjects

pytestmark = pytest.mark.django_db
STAFF = Actor(label="sam@example.com", source="admin")


def test_the_gateway_has_the_budget_in_force(engine: MemoryEngine, limited: Project) -> None:
    assert entry_of(engine, limited)["budget"] == {
        "day_tokens": 1000,
        "month_tokens": 5000,
        "day_money": None,
        "month_money": None,
    }


def test_below_80_percent_nothing_is_reported(limited: Project, use: Any, api: Any, time: Clock) -> None:
    use(limited, 799)
    assert not OutgoingMail.objects.exists()
    assert shown(api, limited, time) == ("running", "")


def test_at_80_percent_the_owner_gets_one_mail(limited: Project, use: Any, api: Any, time: Clock) -> None:
    use(limited, 800)
    use(limited, 50)
    assert subjects() == ["Harbour pilot has used 80 % of its budget"]
    assert "resets on 16 November" in mail.outbox[0].body
    assert f"/projects/{limited.pk}" in mail.outbox[0].body
    assert shown(api, limited, time) == ("running", "")
    event = Event.objects.get(project_id=limited.pk, action="budget")
    assert (event.outcome, event.detail) == ("warning", "of the day")


def test_at_100_percent_the_project_is_degraded_and_the_owner_gets_one_mail(
    limited: Project, use: Any, api: Any, time: Clock
) -> None:
    use(limited, 900)
    use(limited, 100)
    use(limited, 1)
    assert subjects() == ["Harbour pilot has used 80 % of its budget", "Harbour pilot has reached its budget"]
    status, message = shown(api, limited, time)
    assert status == "degraded"
    assert message.startswith("Budget reached; it resets on 16 November.")


def test_reaching_the_limit_in_one_step_sends_the_second_mail_only(limited: Project, use: Any) -> None:
    use(limited, 2000)
    assert subjects() == ["Harbour pilot has reached its budget"]


def test_the_next_day_is_another_budget(limited: Project, use: Any, api: Any, time: Clock) -> None:
    use(limited, 1000)
    time.now += timedelta(days=1)
    assert shown(api, limited, time) == ("running", "")
    use(limited, 1000)
    assert shown(api, limited, time)[0] == "degraded"
    assert subjects() == ["Harbour pilot has reached its budget"]  # the first one came too late to be useful
    assert OutgoingMail.objects.count() == 2


def test_the_longer_of_two_periods_counts(limited: Project, use: Any, api: Any, time: Clock) -> None:
    use(limited, 5000)
    assert shown(api, limited, time)[1].startswith("Budget reached; it resets on 1 December.")
    time.now = datetime(2026, 12, 1, tzinfo=UTC)
    assert shown(api, limited, time) == ("running", "")


def test_a_call_that_is_refused_before_all_is_spent_counts_as_well(
    limited: Project, use: Any, api: Any, time: Clock, gateway: MemoryGateway
) -> None:
    use(limited, 950)
    gateway.see(str(limited.pk), budget_reached=time.now.timestamp())
    look_after_gateway()
    assert shown(api, limited, time)[0] == "degraded"
    use(limited, 1)
    look_after_gateway()
    assert shown(api, limited, time)[0] == "degraded"
    assert subjects() == ["Harbour pilot has used 80 % of its budget", "Harbour pilot has reached its budget"]
    time.now += timedelta(days=1)
    assert shown(api, limited, time)[0] == "running"
    look_after_gateway()
    limited.refresh_from_db()
    assert limited.budget_until is None


@pytest.mark.parametrize(
    ("told", "used", "resets"),
    [
        (None, 0, "16 November"),  # an older gateway does not report it, and of two equal ones the day ends sooner
        (None, 950, "16 November"),
        ("day", 0, "16 November"),
        ("month", 950, "1 December"),
    ],
)
def test_a_refusal_lasts_until_its_budget_restarts(
    limited: Project, use: Any, api: Any, time: Clock, gateway: MemoryGateway, told: str | None, used: int, resets: str
) -> None:
    use(limited, used)
    gateway.see(str(limited.pk), budget_reached=time.now.timestamp(), budget_period=told)
    look_after_gateway()
    status, message = shown(api, limited, time)
    assert (status, message.split(";")[1].split(".")[0]) == ("degraded", f" it resets on {resets}")
    assert Event.objects.filter(project_id=limited.pk, action="budget", outcome="reached").count() == 1


def test_a_higher_budget_is_in_force_at_once(
    engine: MemoryEngine, limited: Project, use: Any, api: Any, time: Clock, gateway: MemoryGateway
) -> None:
    use(limited, 1000)
    gateway.see(str(limited.pk), budget_reached=time.now.timestamp())
    look_after_gateway()
    container = engine.containers[limited.container_name]
    limited.refresh_from_db()
    grant_budget(project=limited, granted=Budget(day_tokens=9000), actor=STAFF)
    look_after_gateway()  # which reports the same refusal again
    assert entry_of(engine, limited)["budget"]["day_tokens"] == 9000
    assert shown(api, limited, time) == ("running", "")
    assert engine.containers[limited.container_name] is container


def test_a_refusal_for_a_lower_budget_lasts_too(
    limited: Project, use: Any, api: Any, time: Clock, engine: MemoryEngine
) -> None:
    use(limited, 300)
    assert api.patch(f"/api/projects/{limited.pk}", {"budget": {"day_tokens": 200}}).status_code == 200
    assert entry_of(engine, limited)["budget"]["day_tokens"] == 200
    assert shown(api, limited, time)[0] == "degraded"
    assert api.patch(f"/api/projects/{limited.pk}", {"budget": {"day_tokens": None}}).status_code == 200
    assert entry_of(engine, limited)["budget"]["day_tokens"] == 1000
    assert shown(api, limited, time)[0] == "running"


def test_an_agent_that_ended_because_of_its_budget_shows_the_reason(
    limited: Project, use: Any, api: Any, time: Clock, engine: MemoryEngine
) -> None:
    """The assistant ends with the code for missing credit, like for the provider's own error."""
    use(limited, 1000)
    engine.crash(limited.container_name, exit_code=31)
    for _ in range(2):
        time.now += timedelta(seconds=1)
        reconcile()
    status, message = shown(api, limited, time)
    assert (status, message[:14]) == ("crashed", "Budget reached")


def test_a_new_key_does_not_reset_the_budget(
    limited: Project, use: Any, api: Any, time: Clock, gateway: MemoryGateway
) -> None:
    use(limited, 950)
    gateway.see(str(limited.pk), budget_reached=time.now.timestamp())
    look_after_gateway()
    assert api.patch(f"/api/projects/{limited.pk}", {"apiKey": CANARY_OTHER_API_KEY}).status_code == 200
    assert shown(api, limited, time)[0] == "degraded"


def test_a_failure_of_one_project_affects_no_other(
    deploy: Callable[..., Project], limited: Project, use: Any, gateway: MemoryGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = deploy(telegramToken="555:another-bot")
    gateway.see(str(other.pk), provider_status=401, provider_at=NOON.timestamp())
    good = budgets.settle_budget

    def break_at_one(project: Project, **more: Any) -> None:
        if project == limited:
            raise RuntimeError("A fault that a test asked for.")
        good(project, **more)

    monkeypatch.setattr(budgets, "settle_budget", break_at_one)
    gateway.use(str(other.pk), model="gpt", hour=int(NOON.timestamp()) // 3600, input=1000)
    use(limited, 1000)
    other.refresh_from_db()
    assert (other.budget_until is not None, other.seen_code) == (True, "provider_key")
