"""Who may continue a batch, how many items run at a time, and when old batches are deleted."""

from contextlib import ExitStack, suppress
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.models import User
from projects.admin import batches as batch_admin
from projects.errors import NoPlaceError
from projects.models import Batch, BatchItem, Event, Project
from projects.models.batch import KEPT_FOR, LOST_AFTER, ItemState
from projects.services.bulkheads import COMMANDS, Places
from projects.services.staff import batches
from projects.watcher.upkeep.retention import prune
from tests.fakes.engine import MemoryEngine
from tests.projects.admin.batches.pages import begin, choose, states, step, text_of

pytestmark = pytest.mark.one_database


def test_few_commands_run_in_parallel_and_one_of_a_dead_process_is_not_repeated(
    admin: Client, three: list[Project]
) -> None:
    page = begin(admin, "stop", three)
    began = BatchItem.objects.filter(number__lte=batches.AT_ONCE)
    began.update(state=ItemState.BEGUN, begun_at=timezone.now())
    waits = step(admin, page)
    assert "0 of 3 finished. In progress: Ship 2, Ship 1." in text_of(waits)
    assert 'hx-trigger="load delay:2s' in waits.content.decode()
    assert not Event.objects.filter(action="stop").exists()

    began.update(begun_at=timezone.now() - LOST_AFTER)
    step(admin, page)
    assert states() == [ItemState.LOST, ItemState.LOST, ItemState.DONE]
    assert f"Ship 1 Nobody knows: {batches.LOST}" in text_of(admin.get(page))
    assert Event.objects.filter(action="stop").count() == 1


def test_a_command_without_a_free_slot_waits(
    admin: Client, three: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = begin(admin, "restart", three)
    places = Places(total=1, each=1, reserve=0)
    monkeypatch.setattr(batches, "COMMANDS", places)
    with places.take("sam@example.com"):
        assert "0 of 3 finished." in text_of(step(admin, page))
    admin.post(page)
    assert states() == [ItemState.DONE] * 3


def test_a_command_whose_slot_another_lane_took_waits_too(
    admin: Client, three: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = begin(admin, "restart", three)
    with monkeypatch.context() as patch:
        patch.setattr(COMMANDS, "has_left", lambda _label: True)
        with ExitStack() as taken:
            with suppress(NoPlaceError):
                while True:
                    taken.enter_context(COMMANDS.take("sam@example.com"))
            assert "0 of 3 finished." in text_of(step(admin, page))
            assert states() == [ItemState.WAITING] * 3
    admin.post(page)
    assert states() == [ItemState.DONE] * 3


def test_a_late_result_counts_unless_the_command_was_repeated(sam: User) -> None:
    batch = batches.begin_batch(by=sam, action="stop", chosen=[(uuid4(), "Ship")])
    item = batches._claim_next(batch)
    assert item is not None
    batches._end(item, ItemState.LOST, batches.LOST)
    batches._end(item, ItemState.DONE, "Stopped.")
    batches._end(item, ItemState.LOST, batches.LOST)
    assert states() == [ItemState.DONE]
    BatchItem.objects.update(state=ItemState.REFUSED)
    batches.try_again(batch)
    batches._end(item, ItemState.DONE, "Stopped.")
    assert states() == [ItemState.WAITING]


def test_a_session_that_ends_during_the_batch_sends_no_further_command(
    admin: Client, three: list[Project], engine: MemoryEngine
) -> None:
    page = begin(admin, "stop", three)
    engine.slow("stop", lambda: Session.objects.all().delete())
    admin.post(page)
    assert Event.objects.filter(action="stop").count() == 1


def test_a_request_continues_no_row_that_another_request_took_over(
    admin: Client, ada: User, three: list[Project], engine: MemoryEngine
) -> None:
    page = begin(admin, "stop", three)
    stale = Batch.objects.get()
    engine.slow("stop", lambda: batches.take_over(stale, by=ada))
    admin.post(page)
    assert states() == [ItemState.DONE, ItemState.WAITING, ItemState.WAITING]
    assert Event.objects.filter(action="stop").count() == 1
    BatchItem.objects.filter(number=1).update(state=ItemState.REFUSED)
    batches.stop(stale)
    batches.resume(stale)
    batches.try_again(stale)
    assert (Batch.objects.get().is_stopped, states()[0]) == (True, ItemState.REFUSED)
    batches.try_again(Batch.objects.get())
    assert (Batch.objects.get().is_stopped, states()[0]) == (False, ItemState.WAITING)


def test_rows_beyond_the_batch_size_are_left_and_old_batches_are_removed(
    admin: Client, sam: User, three: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_admin, "MOST", 2)
    page = begin(admin, "stop", three)
    assert "These are the first 2. Select the others again when they are done." in text_of(admin.get(page))
    assert BatchItem.objects.count() == 2
    Batch.objects.update(created_at=timezone.now() - KEPT_FOR - timedelta(minutes=1))
    young = batches.begin_batch(by=sam, action="stop", chosen=[(three[0].pk, "Ship")])
    list(prune())
    assert list(Batch.objects.all()) == [young]
    assert BatchItem.objects.count() == 1


def test_a_batch_without_a_free_slot_is_asked_to_wait(admin: Client, three: list[Project]) -> None:
    with ExitStack() as held:
        while COMMANDS.has_left("sam@example.com"):
            held.enter_context(COMMANDS.take("sam@example.com"))
        answer = choose(admin, "restart", three[:1])
    assert answer.status_code == 302
    assert "Too many commands are under way." in text_of(admin.get(answer.headers["Location"]))
