"""Budgets in money, and owners who cannot be sent a mail."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError

from accounts.models import OutgoingMail
from projects.models import Event, ModelPrice, Plan, Project
from projects.services.limits import budgets
from projects.services.limits.budgets import renew_all_entries, renew_budgets_of_plan
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of, knows
from tests.projects.gateway.spending import Clock, shown, subjects

pytestmark = pytest.mark.django_db


def test_money_counts_by_the_prices_that_staff_keep(
    engine: MemoryEngine, limited: Project, use: Any, api: Any, time: Clock
) -> None:
    ModelPrice.objects.create(model="gpt", input=Decimal("2.5"), output=10)
    Plan.objects.filter(slug="pro").update(month_money=Decimal("1.50"))
    renew_all_entries()
    renew_budgets_of_plan(limited.plan)
    look_after_gateway()
    entry = entry_of(engine, limited)
    assert entry["prices"] == {"gpt": {"input": 2_500_000, "output": 10_000_000, "cached": 2_500_000}}
    assert entry["budget"]["month_money"] == 1_500_000
    assert knows(engine, limited)
    use(limited, 1, money=1_500_000)
    assert shown(api, limited, time)[1].startswith("Budget reached; it resets on 1 December.")


def test_without_a_mail_server_the_events_report(limited: Project, use: Any, settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = False
    use(limited, 1000)
    assert not OutgoingMail.objects.exists()
    assert Event.objects.filter(project_id=limited.pk, action="budget", outcome="reached").count() == 1


def test_a_full_outbox_keeps_the_mark_for_later(limited: Project, use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("accounts.services.outbox.MOST_WAITING", 0)
        use(limited, 1000)
    assert not OutgoingMail.objects.exists()
    use(limited, 1)
    assert subjects() == ["Harbour pilot has reached its budget"]


@pytest.mark.parametrize("at_fault", ["_write_sums", "_tell_owner", "settle_budget"])
def test_what_a_locked_row_keeps_from_being_added_up_is_added_up_at_the_next_check(
    limited: Project, use: Any, api: Any, time: Clock, monkeypatch: pytest.MonkeyPatch, at_fault: str
) -> None:
    """Also if the agent uses nothing more, because its budget is reached."""

    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("canceling statement due to lock timeout")

    with monkeypatch.context() as patch:
        patch.setattr(budgets, at_fault, fail)
        use(limited, 1000)
    assert shown(api, limited, time) == ("running", "")
    look_after_gateway()
    assert shown(api, limited, time)[0] == "degraded"
    assert subjects() == ["Harbour pilot has reached its budget"]
