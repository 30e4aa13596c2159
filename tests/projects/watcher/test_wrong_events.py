"""Events that can be read, and are not true: wrong times, twice, in a wrong order, of an unknown kind, about others.

Whatever the engine sends, no agent is touched and no crash is counted, and after a second look each is shown as it is.
"""

import random
import time
import uuid
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rest_framework.test import APIClient

from containers.docker_api.events import _ACTIONS
from containers.vocabulary import EngineEvent
from projects.models import Event, Project
from projects.watcher.reconcile.spot_checks import AFTER_EVENT
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import grow_old, statuses
from tests.sampling import Some

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

ACTIONS = (*_ACTIONS, "health_status: unhealthy", "health_status: healthy", "nonsense", "d" * 100_000)
AT: dict[str, timedelta | datetime] = {
    "now": timedelta(0), "an hour ago": -timedelta(hours=1), "in an hour": timedelta(hours=1),
    "in 1970": datetime(1970, 1, 1, tzinfo=UTC), "in 2262": datetime(2262, 4, 11, tzinfo=UTC),
}  # fmt: skip
KEYS = ("its own", "another's", "unknown", "no id", "")
CONTAINERS = ("its own", "another's", "unknown", "")
CHANGES_CONTAINERS = {"deploy", "stop", "remove", "quarantine", "realign"}


def draw(chance: random.Random, project: Project, other: Project) -> EngineEvent:
    action, at = chance.choice(ACTIONS), AT[chance.choice(list(AT))]
    keys = {"its own": project.container_key, "another's": other.container_key, "unknown": str(uuid.uuid4()), "": ""}
    containers = {"its own": project.container_id, "another's": other.container_id, "unknown": "f" * 64, "": ""}
    return EngineEvent(
        key=keys.get(chance.choice(KEYS), "no id"),
        action=action,
        at=at if isinstance(at, datetime) else datetime.now(UTC) + at,
        container_id=containers[chance.choice(CONTAINERS)],
        exit_code=chance.choice([None, 0, 1, 20, 137, 999_999_999]) if action == "die" else None,
    )


def change_order(chance: random.Random, events: list[EngineEvent]) -> list[EngineEvent]:
    """Some come twice, and some later than others."""
    some = [*events, *chance.sample(events, len(events) // 3)]
    chance.shuffle(some)
    return some


@pytest.mark.rare(1)
@pytest.mark.every_case
@pytest.mark.parametrize("number", range(30))
def test_no_false_event_makes_a_status_wrong(
    number: int,
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    api: APIClient,
    some: Some,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("projects.watcher.watcher.close_old_connections", lambda: None)
    chance = random.Random(some.seed * 1000 + number)
    before = {name: replace(each) for name, each in engine.containers.items()}
    watcher = Watcher()
    watcher._look()
    Event.objects.all()._raw_delete("default")
    engine.calls.clear()
    events = change_order(chance, [draw(chance, victim, chance.choice(others)) for _ in range(chance.randint(1, 12))])
    for event in events:
        watcher._hear(event)
        if chance.random() < 0.2:
            watcher._look_at_changed()
    watcher._vouching.step()
    grow_old()
    watcher._look()
    # So it is after a true event.
    assert wrong_statuses(api, allowed={"restarting", "starting", "crashed"}) == {}, events
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + AFTER_EVENT + 1.0)
    watcher._spot_checks.step()
    watcher._look_at_changed()
    grow_old()
    watcher._look()
    assert wrong_statuses(api) == {}, events
    assert {verb for verb, _ in engine.calls} & CHANGES_CONTAINERS == set()
    assert engine.containers == before
    assert not Event.objects.exists()


def wrong_statuses(api: APIClient, *, allowed: Collection[str] = ()) -> dict[str, str]:
    return {key: status for key, status in statuses(api).items() if status not in {"running", *allowed}}
