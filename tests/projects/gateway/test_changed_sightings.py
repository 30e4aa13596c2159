"""Recording sightings reads only rows with new ones, and all rows from time to time."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID, uuid4

import pytest

from containers.gateway.sightings import Sighting
from projects.models import Project
from projects.watcher.gateway import sightings
from projects.watcher.gateway.changed_sightings import ALL_EVERY, SETTLES_WITHIN, Remembered
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.gateway import MemoryGateway

pytestmark = pytest.mark.one_database


class Monotonic:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Monotonic:
    found = Monotonic()
    monkeypatch.setattr("projects.watcher.gateway.changed_sightings.time.monotonic", found)
    return found


def sighting(moment: float) -> Sighting:
    return Sighting(moment, 200, moment, moment, 200, moment, moment, moment)


def test_changes_count_as_news_until_the_rows_have_followed(passing: Monotonic) -> None:
    before, one, other = Remembered(), UUID(int=1), UUID(int=2)
    assert before.find_news({one: sighting(1), other: sighting(1)}) is None
    passing.seconds += SETTLES_WITHIN - 1
    assert before.find_news({one: sighting(1), other: sighting(2)}) == [one, other]
    passing.seconds += 2
    assert before.find_news({one: sighting(1), other: sighting(2)}) == [other]
    assert before.find_news({one: sighting(1)}) == [other], "What it has forgotten is news."
    passing.seconds += ALL_EVERY
    assert before.find_news({one: sighting(1)}) is None, "All of them again."
    passing.seconds += SETTLES_WITHIN
    assert before.find_news({one: sighting(1)}) == []


@pytest.mark.django_db
def test_the_rows_of_agents_without_news_are_not_read(
    gateway: MemoryGateway, deploy: Callable[..., Project], passing: Monotonic, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = deploy(), deploy(telegramToken="77:another-bot")
    noted: list[UUID] = []
    note = sightings._note

    def noting(project: Project, seen: Sighting, began: datetime | None) -> None:
        noted.append(project.pk)
        note(project, seen, began)

    monkeypatch.setattr(sightings, "_note", noting)
    before = Remembered()

    def look() -> set[UUID]:
        noted.clear()
        look_after_gateway(before)
        return set(noted)

    gateway.see(str(one.pk), last_poll=1000.0)
    assert look() == {one.pk, other.pk}
    passing.seconds += SETTLES_WITHIN
    assert look() == set()
    gateway.see(str(other.pk), telegram_status=401, telegram_at=4e9)
    assert look() == {other.pk}
    other.refresh_from_db()
    assert other.seen_code == "telegram_token"
    passing.seconds += ALL_EVERY
    gateway.see(str(uuid4()), last_poll=1.0)
    assert look() == {one.pk, other.pk}
