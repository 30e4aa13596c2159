"""Checks in the database come before questions to Telegram and the provider, and reveal nothing to strangers."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Event, Plan, Project
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.problem_document import assert_problem, codes_of

Send = Callable[..., Any]
WRONG_TOKEN = f"{CANARY_TELEGRAM_TOKEN.partition(':')[0]}:wrong"


@pytest.fixture(autouse=True)
def _second_bot(credentials_are_verified: None, telegram: FakeTelegram) -> None:
    telegram.add_bot(CANARY_OTHER_TELEGRAM_TOKEN, "night_watch_bot")


@pytest.fixture
def ask_nobody(telegram: FakeTelegram, provider: FakeProvider) -> Callable[[], None]:
    """Asserts that no request has come since the last call."""

    def check() -> None:
        assert (telegram.requests, provider.requests) == ([], [])

    return check


@pytest.fixture(params=["create", "validate", "dashboard"])
def send(request: pytest.FixtureRequest, api: APIClient, alice: User, body: dict[str, Any]) -> Send:
    """Alice requests a project, in each of the three ways."""

    def post(**fields: Any) -> Any:
        wanted = body | fields
        if request.param == "create":
            return api.post("/api/projects", wanted)
        if request.param == "validate":
            return api.post("/api/projects/validate", wanted)
        client = Client()
        client.force_login(alice)
        form = {name: wanted[name] for name in ("name", "type", "plan")}
        secrets = {"telegram_token": wanted["telegramToken"], "api_key": wanted["apiKey"]}
        form_id = "11111111-1111-4111-8111-111111111111"
        return client.post("/projects/new", {**form, **secrets, "id": form_id})

    return post


def forget(*servers: FakeTelegram | FakeProvider) -> None:
    for server in servers:
        server.requests.clear()


def test_a_full_plan_is_reported_without_outside_calls(
    send: Send, project: Project, telegram: FakeTelegram, provider: FakeProvider, ask_nobody: Callable[[], None]
) -> None:
    Plan.objects.filter(slug="pro").update(max_projects=1)
    forget(telegram, provider)
    assert send(plan="pro", telegramToken=CANARY_OTHER_TELEGRAM_TOKEN).status_code == 403
    ask_nobody()


def test_a_missing_image_is_reported_without_outside_calls(
    send: Send, engine: MemoryEngine, ask_nobody: Callable[[], None]
) -> None:
    engine.images.clear()
    assert send().status_code == 502
    ask_nobody()


def test_a_silent_engine_is_reported_without_outside_calls(
    send: Send, engine: MemoryEngine, ask_nobody: Callable[[], None]
) -> None:
    engine.unavailable = True
    assert send().status_code == 503
    ask_nobody()


def test_a_bot_of_one_s_own_project_is_reported_without_outside_calls(
    send: Send, project: Project, telegram: FakeTelegram, provider: FakeProvider, ask_nobody: Callable[[], None]
) -> None:
    forget(telegram, provider)
    assert send(telegramToken=WRONG_TOKEN).status_code == 409
    ask_nobody()


def test_otherwise_both_are_asked(send: Send, telegram: FakeTelegram, provider: FakeProvider) -> None:
    assert send().status_code in {200, 201, 302}
    assert len(telegram.requests) == 2
    assert len(provider.requests) == 1


# -- strangers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/validate"])
def test_without_the_token_nobody_learns_that_a_bot_is_deployed_here(
    path: str, project: Project, bobs_api: APIClient, body: dict[str, Any]
) -> None:
    answer = bobs_api.post(path, body | {"telegramToken": WRONG_TOKEN})
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("telegramToken", "rejected")}
    assert "bot_in_use" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/validate"])
def test_the_holder_of_a_token_learns_that_its_bot_is_in_use(
    path: str, project: Project, bobs_api: APIClient, body: dict[str, Any]
) -> None:
    assert_problem(bobs_api.post(path, body), 409, "bot_in_use")


def test_a_stranger_learns_nothing_by_a_change_either(
    project: Project, bobs_api: APIClient, body: dict[str, Any], telegram: FakeTelegram
) -> None:
    mine = bobs_api.post("/api/projects", body | {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}).json()["id"]
    answer = bobs_api.patch(f"/api/projects/{mine}", {"telegramToken": WRONG_TOKEN})
    assert codes_of(answer) == {("telegramToken", "rejected")}
    assert_problem(bobs_api.patch(f"/api/projects/{mine}", {"telegramToken": CANARY_TELEGRAM_TOKEN}), 409, "bot_in_use")
    telegram.stop()
    assert bobs_api.patch(f"/api/projects/{mine}", {"telegramToken": WRONG_TOKEN}).status_code == 200


# -- changes ----------------------------------------------------------------------------------------------------------


def test_a_change_to_a_full_plan_is_refused_without_asking_anybody(
    deploy: Callable[..., Project],
    project: Project,
    api: APIClient,
    telegram: FakeTelegram,
    provider: FakeProvider,
    ask_nobody: Callable[[], None],
) -> None:
    deploy(plan="free", telegramToken=CANARY_OTHER_TELEGRAM_TOKEN)
    forget(telegram, provider)
    answer = api.patch(f"/api/projects/{project.id}", {"plan": "free", "apiKey": CANARY_API_KEY})
    assert_problem(answer, 403, "plan_limit_reached")
    ask_nobody()


def test_a_change_to_another_bot_of_one_s_own_is_refused_without_outside_calls(
    deploy: Callable[..., Project],
    project: Project,
    api: APIClient,
    telegram: FakeTelegram,
    provider: FakeProvider,
    ask_nobody: Callable[[], None],
) -> None:
    other = deploy(telegramToken=CANARY_OTHER_TELEGRAM_TOKEN)
    forget(telegram, provider)
    answer = api.patch(f"/api/projects/{other.id}", {"telegramToken": WRONG_TOKEN})
    assert_problem(answer, 409, "bot_in_use")
    ask_nobody()


def test_a_new_token_of_the_same_bot_is_no_conflict(project: Project, api: APIClient) -> None:
    answer = api.patch(f"/api/projects/{project.id}", {"telegramToken": CANARY_TELEGRAM_TOKEN})
    assert answer.status_code == 200
    assert Event.objects.filter(action="update", outcome="done").count() == 1
