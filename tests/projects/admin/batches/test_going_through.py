"""The admin's actions on many projects: a page runs them step by step and shows each result."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from projects.admin import batches as batch_admin
from projects.models import Event, Project
from projects.models.batch import ItemState
from projects.services.operations import ANSWER_WITHIN
from projects.services.staff import actions as staff_actions
from projects.services.staff import batches
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.admin.batches.pages import begin, choose, states, step, text_of

pytestmark = pytest.mark.one_database


@pytest.mark.usefixtures("_one_a_step")
def test_the_page_processes_all_rows_and_shows_each_result(
    admin: Client, three: list[Project], engine: MemoryEngine
) -> None:
    page = begin(admin, "stop", three)
    assert "0 of 3 finished. Stop here" in text_of(admin.get(page))
    assert not Event.objects.filter(action="stop").exists()
    first = step(admin, page)
    assert "1 of 3 finished. Ship 2 Done: Stopped." in text_of(first)
    assert 'id="lane-1"' in first.content.decode()
    assert 'name="seen" value="1"' in first.content.decode()
    second = text_of(step(admin, page, seen=1))
    assert "2 of 3 finished. Ship 1 Done: Stopped." in second
    assert "Ship 2" not in second
    last = text_of(step(admin, page, seen=1))  # an answer that was lost on its way is sent once more
    assert "3 of 3 finished. Nothing is left." in last
    assert "Ship 1 Done: Stopped. Ship 0 Done: Stopped." in last
    assert {each.state for each in engine.containers.values()} == {"exited"}


@pytest.mark.usefixtures("_one_a_step")
def test_a_reload_shows_the_results_and_repeats_nothing(admin: Client, three: list[Project]) -> None:
    page = begin(admin, "restart", three[:2])
    step(admin, page)
    assert "1 of 2 finished. Stop here" in text_of(admin.get(page))
    step(admin, page)
    for _ in range(2):
        again = step(admin, page)
        assert "hx-trigger" not in again.content.decode()
        assert "Nothing is left." in text_of(admin.get(page))
    assert Event.objects.filter(action="restart").count() == 2


def test_without_scripts_a_button_continues_within_the_time_of_a_request(
    admin: Client, three: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = begin(admin, "stop", three)
    monkeypatch.setattr(batch_admin, "BATCH_SECONDS", 0)
    assert admin.post(page).headers["Location"] == page
    assert "1 of 3 finished." in text_of(admin.get(page))
    monkeypatch.undo()
    admin.post(page)
    assert "3 of 3 finished. Nothing is left." in text_of(admin.get(page))
    assert batch_admin.BATCH_SECONDS + ANSWER_WITHIN < 60


def test_a_refusal_stops_no_other_row_and_a_button_repeats_it(
    admin: Client, three: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.objects.filter(pk=three[0].pk).update(suspended_at=timezone.now())
    broken = {**staff_actions._ACTS, "start": lambda *_: 1 / 0}
    page = begin(admin, "restart", three)
    admin.post(page)
    told = text_of(admin.get(page))
    assert "3 of 3 finished, 1 not done. Nothing is left. Retry what was not done" in told
    assert "Ship 2 Not done: “Ship 2” is suspended." in told
    Project.objects.update(suspended_at=None)
    assert admin.post(page, {"do": "again"}).headers["Location"] == page
    assert "2 of 3 finished. Stop here" in text_of(admin.get(page))
    admin.post(page)
    assert "Ship 2 Done: Restarted." in text_of(admin.get(page))
    assert Event.objects.filter(action="restart", outcome="done").count() == 3

    monkeypatch.setattr(staff_actions, "_ACTS", broken)
    Project.objects.filter(pk=three[1].pk).delete()
    page = begin(admin, "start", [three[0], three[2]])
    Project.objects.filter(pk=three[2].pk).delete()
    admin.post(page)
    told = text_of(admin.get(page))
    assert f"Ship 2 Not done: {batches.BROKEN}" in told
    assert "Ship 0 Done, with a remark: It is gone." in told


@pytest.mark.usefixtures("_one_a_step")
def test_a_batch_can_be_stopped_and_continued(admin: Client, three: list[Project]) -> None:
    page = begin(admin, "stop", three)
    step(admin, page)
    admin.post(page, {"do": "stop"})
    assert "1 of 3 finished. Stopped: 2 not begun. Continue" in text_of(admin.get(page))
    assert "Stopped: 2 not begun." in text_of(step(admin, page))
    assert states() == [ItemState.DONE, ItemState.WAITING, ItemState.WAITING]
    admin.post(page, {"do": "resume"})
    step(admin, page)
    assert states() == [ItemState.DONE, ItemState.DONE, ItemState.WAITING]


def test_many_are_deleted_once_that_is_confirmed(admin: Client, three: list[Project], engine: MemoryEngine) -> None:
    assert choose(admin, "delete_projects", three).status_code == 200
    page = begin(admin, "delete_projects", three, confirm="3 projects")
    assert Project.objects.count() == 3
    admin.post(page)
    assert text_of(admin.get(page)).count("Done: Deleted.") == 3
    assert not engine.containers


def test_a_reason_goes_to_each_owner(admin: Client, three: list[Project]) -> None:
    admin.post(begin(admin, "suspend", three[:2], reason="It sends spam"))
    assert Project.objects.filter(suspended_because="It sends spam").count() == 2
    page = begin(admin, "lift", three)
    admin.post(page)
    told = text_of(admin.get(page))
    assert (told.count("Done: Lifted, and started."), told.count("It was not suspended.")) == (2, 1)


@pytest.mark.usefixtures("_one_a_step")
def test_an_abandoned_batch_can_be_seen_stopped_and_continued_by_others(
    admin: Client, three: list[Project], ada: User
) -> None:
    page, other = begin(admin, "stop", three), browser_of(ada)
    step(admin, page)
    assert "Stop : 2 of 3 left, begun by sam@example.com" in text_of(other.get("/admin/"))
    told = text_of(other.get(page))
    assert "This continues as long as sam@example.com has its page open." in told
    assert "1 of 3 finished. Take it over Stop here" in told
    assert 'id="lane-1"' not in other.get(page).content.decode()
    for do in ("", "resume", "again"):
        other.post(page, {"do": do})
    assert step(other, page).headers["HX-Refresh"] == "true"
    assert states() == [ItemState.DONE, ItemState.WAITING, ItemState.WAITING]
    other.post(page, {"do": "stop"})
    assert "Stopped: 2 not begun. Continue" in text_of(admin.get(page))
    assert "2 of 3 left" not in text_of(other.get("/admin/"))
    other.post(page, {"do": "take"})
    assert step(admin, page).headers["HX-Refresh"] == "true"
    step(other, page)
    assert states() == [ItemState.DONE, ItemState.DONE, ItemState.WAITING]
    assert Event.objects.filter(action="stop", actor=ada.email).count() == 1
