"""GET /api/projects and GET /api/projects/{id}."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Project, Watch
from tests.factories import ApiKeyFactory, plain_key
from tests.fakes.engine import MemoryEngine


def age(**fields: float) -> None:
    """Makes everything that is known about the engine too old."""
    Project.objects.update(observed_at=timezone.now() - timedelta(**fields))


def beat(*, seconds_ago: float = 0) -> None:
    Watch.objects.update_or_create(
        instance=settings.BERTH_INSTANCE, defaults={"heartbeat_at": timezone.now() - timedelta(seconds=seconds_ago)}
    )


def test_the_list_has_exactly_five_fields_newest_first(api: APIClient, deploy: Any) -> None:
    first, second = deploy(), deploy(telegramToken="999:another", name="Second")
    answer = api.get("/api/projects")
    assert answer.status_code == 200
    assert answer.json() == [
        {
            "id": str(project.id),
            "name": project.name,
            "status": "running",
            "plan": "pro",
            "created_at": project.created_at.isoformat().replace("+00:00", "Z"),
        }
        for project in (second, first)
    ]


def test_nobody_sees_the_projects_of_another(project: Project, bobs_api: APIClient) -> None:
    assert bobs_api.get("/api/projects").json() == []


def test_pages_are_linked_in_the_header_and_the_body_stays_an_array(api: APIClient, deploy: Any) -> None:
    ids = [str(deploy(telegramToken=f"{number}:token").id) for number in range(1, 6)]
    seen, path, pages = [], "/api/projects?limit=2", 0
    while path:
        answer = api.get(path)
        seen += [entry["id"] for entry in answer.json()]
        links = answer.headers.get("Link", "")
        path = next((link[1 : link.index(">")] for link in links.split(", ") if 'rel="next"' in link), "")
        pages += 1
    assert seen == ids[::-1]
    assert pages == 3


def test_a_list_costs_the_same_queries_however_long_it_is(
    api: APIClient, deploy: Any, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(1, 6):
        deploy(telegramToken=f"{number}:token")
    beat()
    with django_assert_num_queries(2):  # the user, and their projects
        api.get("/api/projects")


def test_a_fresh_heartbeat_spares_the_engine(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    age(minutes=1)
    beat()
    engine.calls.clear()
    assert api.get("/api/projects").json()[0]["status"] == "running"
    assert engine.calls == []


def test_with_an_old_heartbeat_a_read_asks_the_engine_once(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    age(minutes=1)
    beat(seconds_ago=6)
    engine.crash(project.container_name, exit_code=1)
    engine.calls.clear()
    assert api.get("/api/projects").json()[0]["status"] == "crashed"
    assert engine.calls == [("observe", "")]


def test_a_read_changes_no_row(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    age(minutes=1)
    before = Project.objects.values().get()
    engine.crash(project.container_name, exit_code=1)
    api.get("/api/projects")
    api.get(f"/api/projects/{project.id}")
    assert Project.objects.values().get() == before


def test_with_a_silent_engine_the_status_is_unknown_and_the_detail_keeps_the_last_one(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    age(minutes=1)
    engine.unavailable = True
    assert api.get("/api/projects").json()[0]["status"] == "unknown"
    detail = api.get(f"/api/projects/{project.id}").json()
    assert (detail["status"], detail["last_known_status"]) == ("unknown", "running")
    assert detail["status_reason"]["code"] == "engine_unavailable"


def test_an_empty_list_of_the_engine_is_not_believed(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(minutes=1)
    monkeypatch.setattr(engine, "observe", lambda *_, **__: [])
    assert api.get("/api/projects").json()[0]["status"] == "running"


def test_a_container_held_by_an_operation_is_not_inspected_for_the_list(
    api: APIClient, deploy: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy()
    moving = deploy(telegramToken="999:another")
    age(minutes=1)
    soon = timezone.now() + timedelta(seconds=30)
    Project.objects.filter(pk=moving.pk).update(operation="stop", operation_id=moving.pk, operation_deadline=soon)
    left_out: list[set[str]] = []
    observe = engine.observe

    def spy(*within: Any, briefly: Any, **options: Any) -> Any:
        left_out.append(set(briefly))
        return observe(*within, briefly=briefly, **options)

    monkeypatch.setattr(engine, "observe", spy)
    assert [entry["status"] for entry in api.get("/api/projects").json()] == ["stopping", "running"]
    assert left_out == [{moving.container_key}]


def test_a_vanished_container_is_reported(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    age(minutes=1)
    engine.vanish(project.container_name)
    detail = api.get(f"/api/projects/{project.id}").json()
    assert (detail["status"], detail["status_reason"]["code"]) == ("crashed", "vanished")


@pytest.mark.parametrize("method", ["get", "delete", "patch"])
def test_a_stranger_gets_the_same_404_as_for_an_unknown_id(method: str, project: Project, bobs_api: APIClient) -> None:
    answers = [
        getattr(bobs_api, method)(f"/api/projects/{project_id}", headers={"X-Request-ID": "same"})
        for project_id in (project.id, "00000000-0000-4000-8000-000000000000")
    ]
    assert answers[0].status_code == 404
    assert answers[0].content == answers[1].content
    assert Project.objects.count() == 1


def test_answers_are_not_to_be_stored(api: APIClient, project: Project) -> None:
    assert "no-store" in api.get("/api/projects")["Cache-Control"]


def test_an_admin_s_api_key_reaches_no_other_user_s_project(project: Project, bob: User) -> None:
    client = APIClient()
    key = plain_key(ApiKeyFactory.create(user=bob, scope="write"))
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    User.objects.filter(pk=bob.pk).update(is_staff=True, is_superuser=True)
    path = f"/api/projects/{project.pk}"
    assert [client.get(path).status_code, client.delete(path).status_code] == [404, 404]
    assert client.get("/api/projects").json() == []
