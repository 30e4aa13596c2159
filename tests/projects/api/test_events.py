"""GET /api/events and GET /api/projects/{id}/events: pages of the history."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.api.parameters import ParameterError
from accounts.models import User
from projects.api.lists.event_pages import read_event_id, show_id
from projects.models import Event, Project
from tests.problem_document import assert_problem

PATHS = ("/api/events", "/api/projects/{id}/events")


def happened(owner: User, project_id: UUID, number: int, **fields: Any) -> Event:
    at = timezone.now() - timedelta(minutes=number // 2)  # two have the same time each
    values = {"actor": owner.email, "source": "session", "action": "start", "outcome": "ok", "detail": str(number)}
    return Event(owner_id=owner.pk, project_id=project_id, **({"at": at} | values | fields))


def test_an_id_is_the_same_in_every_version(settings: Any) -> None:
    """Readers store the last id that they have seen."""
    settings.SECRET_KEY = "a key of this test"
    assert str(show_id(123456)) == "0bb2a94f-a1df-7b6f-feca-a17fad849cea"


@pytest.fixture
def events(alice: User, bob: User, project: Project) -> list[Event]:
    """Newest first: Alice's, and some of Bob's between them."""
    Event.objects.all().delete()
    at = timezone.now()
    hers = [happened(alice, project.pk, number, at=at - timedelta(minutes=number // 2)) for number in range(25)]
    his = [happened(bob, uuid4(), number, detail="Bob's") for number in range(9)]
    Event.objects.bulk_create([*reversed(hers), *his])
    return list(Event.objects.filter(owner_id=alice.pk))


@pytest.mark.parametrize("path", PATHS)
def test_pages_have_every_event_once_newest_first(
    api: APIClient, project: Project, events: list[Event], path: str
) -> None:
    whole = api.get(path.format(id=project.pk)).json()
    assert [each["id"] for each in whole] == [str(show_id(event.pk)) for event in events]
    for size in (1, 7, 24, 25, 200):
        answer = api.get(f"{path.format(id=project.pk)}?limit={size}")
        found, pages = answer.json(), 1
        while "Link" in answer:
            answer = api.get(answer["Link"].partition(">")[0].strip("<"))
            found, pages = found + answer.json(), pages + 1
        assert (found, pages) == (whole, -(-25 // size))
    after = api.get(f"{path.format(id=project.pk)}?cursor={whole[3]['id']}").json()
    assert after == whole[4:]


def test_new_events_do_not_shift_the_pages(api: APIClient, alice: User, project: Project, events: list[Event]) -> None:
    first = api.get("/api/events?limit=5")
    happened(alice, project.pk, 0).save()
    second = api.get(first["Link"].partition(">")[0].strip("<")).json()
    assert [each["id"] for each in second] == [str(show_id(event.pk)) for event in events[5:10]]


def test_only_events_since_a_time_are_listed(api: APIClient, events: list[Event]) -> None:
    assert len(api.get("/api/events?since=150s").json()) == 6
    assert api.get("/api/events?since=2099-01-01T00:00:00Z").json() == []
    assert len(api.get("/api/events?since=1w&limit=3").json()) == 3


def test_the_cursor_may_be_older_than_the_time_asked_for(api: APIClient, events: list[Event]) -> None:
    """Between two pages of `?since=7d` the limit moves on."""
    assert api.get(f"/api/events?since=150s&cursor={show_id(events[10].pk)}").json() == []
    assert len(api.get(f"/api/events?since=150s&cursor={show_id(events[0].pk)}").json()) == 5


def test_a_malformed_id_and_a_stranger_s_id_get_the_same_answer(bobs_api: APIClient, events: list[Event]) -> None:
    for path, name in (("/api/events?cursor=", ""), ("/api/events?follow=true", "last-event-id")):
        told = set()
        for text in (str(show_id(events[0].pk)), str(uuid4()), "x"):
            answer = bobs_api.get(path, headers={name: text}) if name else bobs_api.get(path + text)
            assert answer.status_code == 400
            told.add(answer.json()["errors"][0]["detail"])
        assert len(told) == 1, told


def test_an_event_names_its_project(api: APIClient, project: Project, events: list[Event]) -> None:
    one = api.get("/api/events?limit=1").json()[0]
    assert list(one) == ["id", "project", "at", "actor", "source", "address", "action", "outcome", "detail"]
    assert one["project"] == str(project.pk)
    of_project = api.get(f"/api/projects/{project.pk}/events?limit=1").json()[0]
    assert of_project == {name: value for name, value in one.items() if name != "project"}


def test_actions_of_staff_are_listed_without_their_names(api: APIClient, alice: User, project: Project) -> None:
    happened(alice, project.pk, 0, actor="sam@example.com", source="admin", address="192.0.2.7").save()
    told = api.get("/api/events?limit=1").json()[0]
    assert (told["actor"], told["address"]) == ("staff", None)


def test_nobody_reads_the_events_of_another(
    api: APIClient, bobs_api: APIClient, project: Project, events: list[Event]
) -> None:
    assert {each["detail"] for each in bobs_api.get("/api/events").json()} == {"Bob's"}
    assert "Bob's" not in api.get("/api/events").content.decode()
    hers = show_id(events[0].pk)
    for client, path in ((bobs_api, "/api/events"), (api, "/api/events")):
        for cursor in (hers if client is bobs_api else show_id(Event.objects.filter(detail="Bob's")[0].pk), uuid4()):
            assert_problem(client.get(f"{path}?cursor={cursor}"), 400, "invalid", field="cursor")


def test_events_of_a_deleted_project_are_shown_to_its_former_owner(api: APIClient, alice: User, events: Any) -> None:
    gone = uuid4()
    happened(alice, gone, 0, action="delete", at=timezone.now() + timedelta(seconds=1)).save()
    assert api.get("/api/events?limit=1").json()[0]["project"] == str(gone)


def test_queries_do_not_grow_with_the_events(
    api: APIClient, events: Any, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for limit in (1, 20):
        with django_assert_num_queries(2):
            assert len(api.get(f"/api/events?limit={limit}").json()) == limit


WRONG = ("", "x", "0", "7", "-1", "%00", str(UUID(int=0)), str(UUID(int=7)), str(uuid4()), "x" * 5000, "ü")


@pytest.mark.one_database
@pytest.mark.parametrize("path", PATHS)
def test_a_wrong_cursor_or_limit_is_named(api: APIClient, project: Project, path: str) -> None:
    for cursor in WRONG:
        assert_problem(api.get(f"{path.format(id=project.pk)}?cursor={cursor}"), 400, "invalid", field="cursor")
    for limit in ("", "0", "201", "-1", "x", "1.0"):
        assert_problem(api.get(f"{path.format(id=project.pk)}?limit={limit}"), 400, "invalid", field="limit")


@pytest.mark.one_database
def test_an_event_id_reveals_no_number_and_can_be_read_back() -> None:
    shown = [show_id(number) for number in (1, 2, 3, 2**63 - 1)]
    assert [read_event_id(str(each)) for each in shown] == [1, 2, 3, 2**63 - 1]
    assert all(each.int > 2**64 for each in shown)
    assert bin(shown[0].int ^ shown[1].int).count("1") > 30
    for text in (shown[0].hex, f"{{{shown[0]}}}", f"urn:uuid:{shown[0]}", f"{shown[0]} ", ""):
        with pytest.raises(ParameterError):
            read_event_id(text)
