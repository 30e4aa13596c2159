"""A gateway whose disk fails still tells what it sees. Staff read what is wrong, and all is counted afterwards."""

import json
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from projects.models import HourlyUsage, Project
from projects.services.gateway.provisioning import describe_trouble, is_in_trouble
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.counting import sums
from tests.projects.gateway.entries import entry_of
from tests.projects.gateway.spending import Clock
from tests.projects.gateway.test_spent_told import told

pytestmark = pytest.mark.django_db

FULL = "The gateway cannot use its disk: its disk is full."


@pytest.mark.parametrize("refused", [{"usage"}, {"usage", "apply"}, set[str]()], ids=len)
def test_a_full_disk_hides_no_sightings_and_is_shown_to_staff(
    refused: set[str], gateway: MemoryGateway, limited: Project, use: Any, time: Clock
) -> None:
    gateway.trouble, gateway.refuses = FULL, refused
    gateway.see(str(limited.pk), telegram_status=401, telegram_at=time.now.timestamp())
    Project.objects.filter(pk=limited.pk).update(entry_version=limited.entry_version + 1)
    look_after_gateway()
    limited.refresh_from_db()
    assert limited.seen_code == "telegram_token"
    assert FULL in describe_trouble()
    assert "BERTH_GATEWAY=off" not in describe_trouble(), "The gateway works."
    assert is_in_trouble()
    gateway.trouble, gateway.refuses = "", set()
    look_after_gateway()
    assert describe_trouble() == ""
    use(limited, 300)
    assert sums()["input"] == 300


@pytest.mark.parametrize("silent", ["usage", "apply"])
def test_a_gateway_that_leaves_one_question_unanswered_is_read_all_the_same(
    silent: str, gateway: MemoryGateway, limited: Project, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(line: bytes) -> bytes:
        if json.loads(line)["do"] == silent:
            raise EngineUnavailableError("The gateway does not answer in time.")
        return real(line)

    real = gateway.answer
    monkeypatch.setattr(gateway, "answer", answer)
    gateway.see(str(limited.pk), telegram_status=401, telegram_at=time.now.timestamp())
    Project.objects.filter(pk=limited.pk).update(entry_version=limited.entry_version + 1)
    look_after_gateway()
    limited.refresh_from_db()
    assert limited.seen_code == "telegram_token"
    assert "does not answer in time" in describe_trouble()


def test_a_gateway_that_was_set_back_is_another_store(
    engine: MemoryEngine, gateway: MemoryGateway, limited: Project, use: Any
) -> None:
    use(limited, 300)
    gateway.set_back()
    use(limited, 20)
    assert sums()["input"] == 320
    assert told(engine, limited) == {"2026-11-15": 320, "2026-11": 320}
    use(limited, 30)
    assert sums()["input"] == 350
    assert HourlyUsage.objects.values("store").distinct().count() == 2


@pytest.mark.parametrize("has_spent", [True, False])
def test_a_project_whose_spending_was_lost_is_told_once(
    engine: MemoryEngine, gateway: MemoryGateway, limited: Project, use: Any, *, has_spent: bool
) -> None:
    if has_spent:
        use(limited, 300)
    gateway.lose_counts()
    gateway.untold.add(str(limited.pk))
    look_after_gateway()
    assert not gateway.untold
    assert gateway._store in {each["store"] for each in entry_of(engine, limited)["spent"]}
    assert sum(told(engine, limited).values()) == (600 if has_spent else 0)
    version = gateway.versions[str(limited.pk)]
    look_after_gateway()
    assert gateway.versions[str(limited.pk)] == version
