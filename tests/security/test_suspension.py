"""A suspension is the staff's to lift: no verb of any channel gives its owner the bot, the place or the agent back.

Generated from the routes: a new one that reaches a project is tried here too.
"""

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import Scope, User
from accounts.services.api_keys import issue_api_key
from projects.models import Event, Plan, Project
from projects.services import lift_suspension
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT, create_project, deploy_project
from tests.problem_document import assert_problem
from tests.sampling import Some
from tests.security.access_table import METHODS, ROUTES
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes
from tests.security.suspending import STAFF, deactivate, frozen, suspend

API_ROUTES = [route for route in ROUTES if route.startswith("/api/projects/<str:id>")]
PAGE_ROUTES = [route for route in page_routes() if "<uuid:project_id>" in route]
BODIES: tuple[dict[str, Any], ...] = (
    {},
    {"name": "Harmless"},
    {"plan": "free"},
    {"settings": {}},
    {"settings": {"instructions": "Nothing to see here."}},
    {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN},
    {"telegramToken": CANARY_TELEGRAM_TOKEN},
    {"apiKey": "sk-another-key-0123456"},
    {"name": "Harmless", "plan": "free", "settings": {}, "telegramToken": CANARY_OTHER_TELEGRAM_TOKEN},
    *({"action": action} for action in ("start", "stop", "restart", "lift", "delete")),
)


FORMS: tuple[dict[str, str], ...] = (
    {},
    {"name": PROJECT["name"]},
    {"name": "Harmless", "plan": "free", "telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "restart": "on"},
    {"name": PROJECT["name"], "plan": "pro", "instructions": "Nothing to see here.", "restart": "on"},
    *({"action": action} for action in ("start", "stop", "restart")),
)


QUERIES = ("", "?restart=true")


@pytest.fixture(params=["session", "key", "browser"])
def channel(request: pytest.FixtureRequest, service: PopulatedService) -> Iterator[Any]:
    """Every way in which an owner speaks to the service: opened before anything is suspended."""
    if request.param == "browser":
        yield browser_of(service.alice)
        return
    client = api_of(service.alice)
    if request.param == "key":
        key = issue_api_key(user=service.alice, session=None, name="writes", scope=Scope.WRITE, lifetime_days=30)[1]
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    yield client


def requests_over(channel: Any, service: PopulatedService, some: Some) -> Iterator[tuple[str, str, Any]]:
    """Each request that reaches the project, sent. Yields method, address and answer.

    A run takes a fifth of the bodies and queries for one route, half of the forms, and others for the next.
    """
    if isinstance(channel, APIClient):
        for number, (route, method) in enumerate(product(API_ROUTES, METHODS)):
            bodies = some(product(BODIES, QUERIES), one_in=5, first=number // len(METHODS))
            for body, query in bodies if method in {"POST", "PATCH"} else [({}, "")]:
                address = address_of(route, service.route_parameters) + query
                yield method, address, channel.generic(method, address, json.dumps(body), "application/json")
        return
    for number, route in enumerate(PAGE_ROUTES):
        address = address_of(route, service.route_parameters)
        yield "GET", address, channel.get(address)
        for form in some(FORMS, one_in=2, first=number):
            yield "POST", address, channel.post(address, form)


def test_the_api_and_the_pages_both_have_routes() -> None:
    assert "/api/projects/<str:id>" in API_ROUTES
    assert any(route.endswith("/delete") for route in PAGE_ROUTES)


@pytest.mark.sampled(2)
@pytest.mark.one_database
@pytest.mark.parametrize("hold", [suspend, deactivate])
def test_no_verb_of_any_channel_lifts_a_suspension(
    service: PopulatedService, channel: Any, some: Some, hold: Callable[[PopulatedService], None]
) -> None:
    hold(service)
    before = frozen(service)
    assert before[1] is False
    for method, address, answer in requests_over(channel, service, some):
        assert answer.status_code < 500, (method, address)
        assert frozen(service) == before, (method, address)
    reconcile()
    assert frozen(service) == before


@pytest.mark.parametrize("hold", [suspend, deactivate])
def test_the_bot_and_the_plan_s_slot_stay_taken(
    service: PopulatedService, hold: Callable[[PopulatedService], None], bob: User
) -> None:
    alices, bobs = api_of(service.alice), api_of(bob)
    other = deploy_project(alices, telegramToken="5:another")
    Plan.objects.filter(slug="pro").update(max_projects=2)
    hold(service)
    before = frozen(service)
    for client in (alices, bobs):
        for path in ("/api/projects", "/api/projects/validate"):
            assert client.post(path, PROJECT).status_code in {400, 401, 403, 409}
            assert client.post(path, PROJECT | {"plan": "free"}).status_code in {400, 401, 409}
    assert alices.post("/api/projects", PROJECT | {"telegramToken": "6:new"}).status_code in {401, 403}
    changed = alices.patch(f"/api/projects/{other.pk}", {"telegramToken": CANARY_TELEGRAM_TOKEN})
    assert changed.status_code in {401, 409}
    form = {"name": other.name, "plan": "pro", "telegram_token": CANARY_TELEGRAM_TOKEN}
    page = browser_of(service.alice)
    assert page.post(f"/projects/{other.pk}/change", form).status_code in {302, 409}
    other.refresh_from_db()
    assert other.bot_id == 5
    assert frozen(service) == before
    assert Project.objects.filter(bot_id=service.project.bot_id).count() == 1


def test_deleting_and_creating_again_is_refused_by_name(service: PopulatedService) -> None:
    """What the owner of a suspended project tried first."""
    suspend(service)
    client, path = api_of(service.alice), f"/api/projects/{service.project.pk}"
    assert_problem(client.delete(path), 409, "project_suspended")
    assert_problem(client.post("/api/projects", PROJECT), 409, "bot_in_use")
    assert_problem(client.patch(path, {"name": "Harmless"}), 409, "project_suspended")
    assert_problem(client.patch(path, {"telegramToken": "7:free"}), 409, "project_suspended")
    for action in ("start", "restart"):
        assert_problem(client.post(f"{path}/control", {"action": action}), 409, "project_suspended")
    assert client.get(path).json()["status"] == "suspended"
    refused = Event.objects.filter(project_id=service.project.pk, action="delete")
    assert [event.outcome for event in refused] == ["failed"]


def test_the_page_offers_no_command_and_says_why(service: PopulatedService) -> None:
    suspend(service)
    dashboard, path = browser_of(service.alice), f"/projects/{service.project.pk}"
    shown = dashboard.get(path).content.decode()
    assert f'href="{path}/delete"' not in shown
    assert f'href="{path}/change"' not in shown
    answer = dashboard.post(f"{path}/delete", {"name": service.project.name})
    assert answer.status_code == 409
    assert "is suspended and cannot be deleted. Ask the staff." in answer.content.decode()
    answer = dashboard.post(f"{path}/change", {"name": "Harmless", "plan": "pro"})
    assert answer.status_code == 409
    assert "is suspended and stays as it is" in answer.content.decode()


BELOW = {"delete": "cannot be deleted. Ask the staff.", "change": "stays as it is until the staff lift the suspension."}
FILLED_IN: tuple[dict[str, str] | None, ...] = (None, *FORMS)


@pytest.mark.parametrize("below", BELOW)
def test_forms_that_would_be_refused_are_hidden(service: PopulatedService, below: str) -> None:
    """Neither an empty one nor one that comes back, filled in rightly or wrongly."""
    dashboard, path = browser_of(service.alice), f"/projects/{service.project.pk}/{below}"
    assert 'name="name"' in dashboard.get(path).content.decode()
    suspend(service)
    for form in FILLED_IN:
        answer = dashboard.get(path) if form is None else dashboard.post(path, form)
        page = answer.content.decode()
        assert (answer.status_code, BELOW[below] in page) == (409, True), form
        assert "<input" not in page.partition("<main")[2].partition("</main")[0], form
        assert CANARY_OTHER_TELEGRAM_TOKEN not in page
    assert dashboard.head(path).status_code == 409
    lift_suspension(project=Project.objects.get(), actor=STAFF)
    assert dashboard.get(path).status_code == 200


def test_after_staff_delete_it_the_bot_is_free(service: PopulatedService) -> None:
    suspend(service)
    form = {"action": "delete_projects", "_selected_action": [str(service.project.pk)], "confirm": service.project.name}
    browser_of(service.staff).post("/admin/projects/project/", form)
    assert not Project.objects.exists()
    again = create_project(api_of(service.alice), PROJECT)
    assert again.bot_id == service.project.bot_id


def test_the_provider_key_is_shown_nowhere(service: PopulatedService) -> None:
    suspend(service)
    page: Client = browser_of(service.alice)
    assert CANARY_API_KEY not in page.get(f"/projects/{service.project.pk}").content.decode()
