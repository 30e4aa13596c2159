"""Nothing grows without a bound that staff can read, and their page shows how far it has grown."""

import shutil
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from accounts.models import User
from projects.models import Event, EventCursor, event_bounds
from projects.models.event import BY_STAFF
from projects.services.staff.growth import UNKNOWN, measure_disk, measure_tables
from projects.services.staff.growth_bounds import BOUNDS
from projects.watcher.upkeep.retention import prune
from tests.clients import browser_of

PAGE = "/admin/projects/project/growth/"


@pytest.mark.django_db
def test_every_table_has_a_bound_and_every_bound_a_table() -> None:
    models = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    here = set(connection.introspection.table_names())
    assert models <= BOUNDS.keys()
    assert here - {"cache"} <= BOUNDS.keys()
    assert BOUNDS.keys() <= models | here | {"cache"}


@pytest.mark.one_database
def test_every_bound_is_a_sentence_and_names_a_column_that_is_there() -> None:
    models = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    for table, bound in BOUNDS.items():
        assert bound.sentence.endswith("."), table
        assert not bound.since or models[table]._meta.get_field(bound.since).get_internal_type() == "DateTimeField"


def add(project: UUID, owner: UUID, number: int, *, age: timedelta = timedelta(0), source: str = "s") -> list[int]:
    at = timezone.now() - age
    rows = [
        Event(project_id=project, owner_id=owner, at=at, actor="a", source=source, action="x") for _ in range(number)
    ]
    return [row.pk for row in Event.objects.bulk_create(rows)]


def left(*keys: int) -> list[int]:
    return sorted(Event.objects.filter(pk__in=keys).values_list("pk", flat=True))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_bounds, "MOST_OF_A_PROJECT", 5)
    monkeypatch.setattr(event_bounds, "MOST_OF_AN_OWNER", 12)


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_the_newest_events_of_a_project_are_kept() -> None:
    crowded, other = add(uuid4(), uuid4(), 9), add(uuid4(), uuid4(), 5)
    list(prune())
    assert left(*crowded) == crowded[-5:]
    assert left(*other) == other


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_the_newest_events_of_an_owner_are_kept() -> None:
    owner = uuid4()
    events = [key for _ in range(5) for key in add(uuid4(), owner, 4)]
    others = add(uuid4(), uuid4(), 4)
    list(prune())
    assert left(*events) == events[-12:]
    assert left(*others) == others


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_an_owner_cannot_displace_events_of_staff() -> None:
    project, owner = uuid4(), uuid4()
    of_staff = add(project, owner, 3, source=BY_STAFF)
    flood = add(project, owner, 40)
    list(prune())
    assert left(*of_staff) == of_staff
    assert left(*flood) == flood[-5:]


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_surplus_events_wait_a_week_for_a_reader() -> None:
    project, owner = uuid4(), uuid4()
    old, new = add(project, owner, 4, age=timedelta(days=8)), add(project, owner, 8)
    EventCursor.objects.create(name="slow", last_event_id=0)
    list(prune())
    assert left(*old, *new) == new
    EventCursor.objects.update(last_event_id=new[-1])
    list(prune())
    assert left(*new) == new[-5:]


def test_staff_see_every_table_with_its_limit(sam: User, few: None) -> None:
    add(uuid4(), sam.pk, 3, age=timedelta(days=400))
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE of_somebody_else (a integer)")
    page = browser_of(sam).get(PAGE).content.decode()
    for table in connection.introspection.table_names():
        assert f'<th scope="row">{table}</th>' in page
        assert escape(BOUNDS[table].sentence if table in BOUNDS else UNKNOWN) in page
    (events,) = [each for each in measure_tables() if each.table == "projects_event"]
    assert (events.rows, events.oldest is not None) == (3, True)
    assert f"{events.oldest:%Y-%m-%d %H:%M}" in page


def test_the_first_page_leads_there(sam: User) -> None:
    assert f'href="{PAGE}"' in browser_of(sam).get("/admin/").content.decode()


def test_only_staff_see_the_growth_page(alice: User) -> None:
    assert browser_of(alice).get(PAGE).status_code in {302, 403}
    assert Client().get(PAGE).status_code == 302


def test_the_growth_page_is_read_only(sam: User) -> None:
    assert browser_of(sam).post(PAGE).status_code == 405


def test_the_shown_disk_holds_the_data_directory(tmp_path: Any, settings: Any) -> None:
    settings.BERTH_DATA_DIR = tmp_path
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(bytes(1000))
    disk = measure_disk()
    assert (disk.used, disk.total) == (1000, shutil.disk_usage(tmp_path).total)
    assert 0 < disk.free <= disk.total


def test_an_unreadable_disk_does_not_block_the_page(sam: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(shutil, "disk_usage", fail)
    assert "cannot be measured: Input/output error" in browser_of(sam).get(PAGE).content.decode()
