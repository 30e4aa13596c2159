"""A leader that was paused while another one led does nothing of what it was about to do."""

from typing import Any
from unittest.mock import Mock

import pytest
from django.utils import timezone

from accounts.models import User
from projects.models import AgentType, Plan, Project, Watch
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import LEASE
from projects.rules.status.remedies import Remedy
from projects.services import NewProject, create_project
from projects.watcher.reconcile.inspection import AT_ONCE
from projects.watcher.reconcile.round import Round
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_watcher_that_lost_the_lead_follows_nothing_and_trusts_no_row_later(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher, trusted = Watcher(name="former"), list[bool]()
    reconcile = watcher._reconcile

    def noted(changed_keys: set[str], *, include_volumes: bool, narrow: bool) -> Round:
        trusted.append(narrow)
        return reconcile(changed_keys, include_volumes=include_volumes, narrow=narrow)

    monkeypatch.setattr(watcher, "_reconcile", noted)
    for _ in range(2):
        watcher._look()
    watcher._reports.follow({"id": "key"})
    watcher._name_limits.follow(["id"])
    watcher._changed.add("of before")
    watcher._changed.put_off({str(number) for number in range(AT_ONCE + 1)})
    Watch.objects.update(holder="another", lease_until=timezone.now() + LEASE)
    watcher._look()
    watcher._changed.wake.clear()
    assert (len(watcher._changed), watcher._changed.has_put_off) == (0, False)
    assert (watcher._reports._running, watcher._name_limits._running) == ({}, frozenset())
    watcher._changed.add("what happens meanwhile")
    assert (len(watcher._changed), watcher._changed.wake.is_set()) == (
        0,
        False,
    )  # an event of the engine is not a round
    Watch.objects.update(holder="", lease_until=None)
    watcher._look()
    assert trusted == [False, True, False]
    watcher._changed.add("heard as the leader")
    assert (len(watcher._changed), watcher._changed.wake.is_set()) == (1, True)


def test_a_watcher_that_loses_the_lead_after_the_list_changes_nothing(
    alice: User, engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = AgentType.objects.get(slug="assistant"), Plan.objects.get(slug="free")
    wanted = NewProject(name="Pilot", agent_type=kinds[0], plan=kinds[1], telegram_token="1:token")
    project = create_project(owner=alice, wanted=wanted, actor=SYSTEM)
    engine.crash(project.container_name, exit_code=1)
    watcher, calls = Watcher(name="frozen"), len(engine.calls)
    believe = watcher._spot_checks.correct

    def stand_still(observed: Any) -> Any:
        Watch.objects.update(holder="another", lease_until=timezone.now() + LEASE)
        watcher._leadership._sure_until = 0.0
        return believe(observed)

    watcher._spot_checks.correct = stand_still  # type: ignore[method-assign]  # for the test
    watcher._confine(watcher._look)
    watch = Watch.objects.get()
    assert (Project.objects.get().container_state, watch.heartbeat_at, watch.holder) == ("running", None, "another")
    assert {name for name, _ in engine.calls[calls:]} <= {"ensure_firewall", "observe", "inspect"}
    assert "Another watcher has led meanwhile" in caplog.text

    repair = Mock(decision=Mock(remedy=Remedy.BRING_BACK))
    watcher._background.hand_over(project, repair)
    wait_until(lambda: not watcher._background._busy)
    watcher._background.stop()
    repair.assert_not_called()
