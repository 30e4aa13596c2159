"""Every setting with a value of every JSON type, under the shipped schema and under one that takes anything.

No response is a 500, and accepted values are harmless: the watcher's next round handles all projects. A run tries a
quarter of the values for each setting, another quarter for the next one; `--whole` tries each.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from projects.rules.settings.berth_settings import OWN_SETTINGS
from projects.watcher.reconcile.full import reconcile
from tests.clients import browser_of
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.sending import as_json
from tests.projects.dashboard.pages import path_of
from tests.projects.hostile_values import STORABLE, VALUES
from tests.sampling import Some

OWN = tuple(OWN_SETTINGS["properties"])
NAMES = (*OWN, "x")
SCHEMAS: dict[str, Any] = {"shipped": None, "open": {}}
SHOWN = {"null", "text", "list of everything", "deep dict"}
"""The kinds of values for which all pages are requested, which takes half a second each."""


@pytest.fixture(params=SCHEMAS)
def schema(request: pytest.FixtureRequest, db: None) -> None:
    if SCHEMAS[request.param] is not None:
        AgentType.objects.update(settings_schema=SCHEMAS[request.param])


@pytest.fixture
def bobs_project(bobs_api: APIClient) -> Project:
    return deploy_project(bobs_api, telegramToken="77:bobs-bot")


@pytest.fixture
def others_are_cared_for(bobs_project: Project, engine: MemoryEngine) -> Callable[[], None]:
    """Lets Bob's agent end, and fails if a round does not bring it back or fails at any project."""

    def check() -> None:
        engine.exit(bobs_project.container_name, exit_code=1)
        Project.objects.filter(pk=bobs_project.pk).update(crash_count=0)
        result = reconcile()
        assert result.failed == []
        assert engine.containers[bobs_project.container_name].state == "running"

    return check


@pytest.mark.one_database("postgresql")
@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("name", NAMES)
def test_no_setting_breaks_a_creation(
    api: APIClient, name: str, some: Some, others_are_cared_for: Callable[[], None], engine: MemoryEngine
) -> None:
    Plan.objects.update(max_projects=len(VALUES))
    made = {}
    for number, (kind, value) in some(enumerate(VALUES.items()), one_in=4, first=NAMES.index(name)):
        body = as_json(PROJECT | {"telegramToken": f"{1000 + number}:a-bot", "settings": {name: value}})
        answer = api.generic("POST", "/api/projects", body, "application/json")
        assert answer.status_code in {201, 400}, (kind, answer.content)
        if answer.status_code == 201:
            made[kind] = f"/api/projects/{answer.json()['id']}"
        else:
            assert_problem(answer, 400, "invalid")
    assert Project.objects.count() == 1 + len(made)
    others_are_cared_for()
    for kind, path in made.items():
        assert api.get(path).json()["status"] == "running", kind
        assert api.delete(path).status_code == 204


@pytest.mark.sampled(2)
@pytest.mark.one_database("postgresql")
@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("name", NAMES)
def test_no_setting_breaks_a_change(
    api: APIClient, project: Project, name: str, some: Some, others_are_cared_for: Callable[[], None]
) -> None:
    path = f"/api/projects/{project.pk}"
    for kind, value in some(VALUES.items(), one_in=4, first=NAMES.index(name)):
        answer = api.generic("PATCH", f"{path}?restart=true", as_json({"settings": {name: value}}), "application/json")
        assert answer.status_code in {200, 400}, (kind, answer.content)
        assert api.get(path).json()["status"] == "running", kind
    others_are_cared_for()


@pytest.mark.rare(1)
@pytest.mark.one_database("postgresql")
@pytest.mark.sampled(2)
@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize(
    "name", ["", "a.b", "__proto__", "constructor", "$ref", "settings", "MODEL", "\u202e", "x" * 5000]
)
def test_no_name_of_a_setting_breaks_anything(
    api: APIClient, project: Project, name: str, others_are_cared_for: Callable[[], None]
) -> None:
    for value in (None, 5, [{name: [None]}]):
        for path, method in (("/api/projects/validate", "POST"), (f"/api/projects/{project.pk}?restart=true", "PATCH")):
            good = PROJECT | {"telegramToken": "9:free"} if method == "POST" else {}
            answer = api.generic(method, path, as_json(good | {"settings": {name: value}}), "application/json")
            assert answer.status_code in {200, 400}, answer.content
    others_are_cared_for()


@pytest.mark.rare(1)
@pytest.mark.sampled(2)
@pytest.mark.one_database("postgresql")
@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("name", ["model", "allowed_users"])
def test_no_text_breaks_the_form(
    alice: Any, project: Project, name: str, some: Some, others_are_cared_for: Callable[[], None]
) -> None:
    dashboard = browser_of(alice)
    shown = dashboard.get(path_of(project, "/change")).context["form"].initial
    for kind, value in some(VALUES.items(), one_in=4, first=NAMES.index(name)):
        text = value if isinstance(value, str) else repr(value)[:20_000]
        sent = {**shown, name: text.encode(errors="replace").decode(), "restart": "on"}
        answer = dashboard.post(path_of(project, "/change"), sent)
        assert answer.status_code in {302, 400}, kind
    others_are_cared_for()


@pytest.mark.sampled(2)
@pytest.mark.one_database
@pytest.mark.parametrize("name", OWN)
def test_settings_stored_before_the_check_are_harmless(
    api: APIClient,
    alice: Any,
    ada: Any,
    project: Project,
    engine: MemoryEngine,
    bobs_project: Project,
    name: str,
    some: Some,
) -> None:
    """Such rows are shown, repaired if possible, and can be corrected."""
    AgentType.objects.update(settings_schema={})
    path, dashboard, admin = f"/api/projects/{project.pk}", browser_of(alice), browser_of(ada)
    for kind, value in some(STORABLE.items(), one_in=4, first=OWN.index(name)):
        Project.objects.filter(pk=project.pk).update(
            settings={name: value}, recreated_at=None, failure_code="", failed_at=None
        )
        for container in (project, bobs_project):
            if container.container_name in engine.containers:
                engine.vanish(container.container_name)
        Project.objects.filter(pk=bobs_project.pk).update(recreated_at=None)
        reconcile()
        assert engine.containers[bobs_project.container_name].state == "running", kind
        if kind in SHOWN:
            _assert_shown(api, dashboard, admin, project)
        status = api.get(path).json()
        assert status["status"] == "running" or status["status_reason"]["code"] == "settings_unusable", kind
        command = api.post(f"{path}/control", {"action": "restart"})
        assert command.status_code == 200 or command.json()["code"] == "settings_unusable", kind
        answer = api.patch(path, {"apiKey": "sk-another-key"})
        assert answer.status_code == 200 or codes_of(answer) == {("settings.provider", "enum")}, kind
        assert api.patch(path, {"settings": {name: None}}).status_code == 200, kind
        assert api.post(f"{path}/control", {"action": "restart"}).json()["status"] == "running", kind


def _assert_shown(api: APIClient, dashboard: Client, admin: Client, project: Project) -> None:
    assert api.get("/api/projects").status_code == 200
    for page in (path_of(project), path_of(project, "/change"), "/"):
        assert dashboard.get(page, follow=True).status_code == 200
    for page in (f"/admin/projects/project/{project.pk}/change/", "/admin/projects/project/"):
        assert admin.get(page).status_code == 200
    data = {"action": "restart", "_selected_action": [str(project.pk)]}
    assert admin.post("/admin/projects/project/", data, follow=True).status_code == 200


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("provider", ["nope", "", "OpenAI", None, 5, ["openai"], {"a": 1}])
def test_a_provider_that_there_is_not_is_refused(api: APIClient, provider: Any, settings: Any) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = True  # refused before any outside server is asked
    for path in ("/api/projects", "/api/projects/validate"):
        answer = api.post(path, PROJECT | {"settings": {"provider": provider}})
        assert_problem(answer, 400, "invalid")
        assert {field for field, _ in codes_of(answer)} == {"settings.provider"}
    assert not Project.objects.exists()


def test_the_shipped_schema_asks_for_no_less_than_berth_itself(api: APIClient) -> None:
    shipped = AgentType.objects.get(slug="assistant").settings_schema["properties"]
    assert set(shipped) >= set(OWN)
    assert {name: rule["description"] for name, rule in shipped.items() if name in OWN} == {
        name: rule["description"] for name, rule in OWN_SETTINGS["properties"].items()
    }
    assert shipped["allowed_users"]["items"] == OWN_SETTINGS["properties"]["allowed_users"]["items"]
    assert shipped["provider"]["enum"] == OWN_SETTINGS["properties"]["provider"]["enum"]
