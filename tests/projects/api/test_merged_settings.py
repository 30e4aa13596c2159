"""PATCH merges settings (RFC 7396): omitted names stay, null removes."""

import json
from itertools import combinations
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from containers.agent_contract import Variable
from projects.models import AgentType, Event, Project
from tests.canaries import CANARY_OTHER_API_KEY
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.commands import Change

SETTINGS: dict[str, tuple[Any, Any]] = {
    "model": ("small-1", "small-2"),
    "instructions": ("Be brief.", "Be kind."),
    "allowed_users": ([7, "@alice"], [8]),
    "provider": ("openai", "anthropic"),
}
"""Two values of each setting."""


def updates(project: Project) -> list[str]:
    events = Event.objects.filter(project_id=project.id, action="update", outcome="done").order_by("pk")
    return list(events.values_list("detail", flat=True))


def test_changing_the_model_keeps_the_allowed_users(change: Change, project: Project, engine: MemoryEngine) -> None:
    """Without merging, `allowed_users` would be dropped, and the bot would answer everyone at the owner's expense."""
    change(settings={"allowed_users": [7]})
    assert change(query="?restart=true", settings={"model": "small-2"}).json()["settings"] == {
        "allowed_users": [7],
        "model": "small-2",
    }
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    environment = spec.environment
    assert environment[Variable.AGENT_ALLOWED_USERS.value] == "7"
    assert environment[Variable.AGENT_MODEL.value] == "small-2"


@pytest.mark.parametrize("count", range(len(SETTINGS) + 1))
def test_every_set_of_settings_can_be_changed_without_touching_the_others(
    change: Change, project: Project, api: APIClient, count: int
) -> None:
    """Every set can also be removed; the event names exactly its settings."""
    first = {name: values[0] for name, values in SETTINGS.items()}
    for names in combinations(SETTINGS, count):
        change(settings=first)
        Event.objects.all()._raw_delete("default")
        patch = {name: SETTINGS[name][1] for name in names}
        assert change(settings=patch).json()["settings"] == first | patch
        named = sorted([f"settings.{name}" for name in names] + (["provider"] if "provider" in names else []))
        assert updates(project) == ([f"changed: {', '.join(named)}"] if names else [])
        assert change(settings=dict.fromkeys(names)).json()["settings"] == {
            name: value for name, value in first.items() if name not in names
        }
        assert api.get(f"/api/projects/{project.id}").json()["settings"].keys() == first.keys() - set(names)


def test_objects_are_merged_and_lists_are_replaced(change: Change) -> None:
    AgentType.objects.update(settings_schema={})
    change(settings={"limits": {"daily": 5, "hourly": 1}, "tags": [1, 2]})
    answer = change(settings={"limits": {"daily": 6, "hourly": None}, "tags": [3], "gone": None})
    assert answer.json()["settings"] == {"limits": {"daily": 6}, "tags": [3]}


def test_a_required_setting_cannot_be_removed(change: Change, project: Project) -> None:
    change(settings={"model": "small-1"})
    schema = {"type": "object", "required": ["model"], "properties": {"model": {"type": "string"}}}
    AgentType.objects.update(settings_schema=schema)
    answer = change(settings={"model": None})
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("settings", "required")}
    project.refresh_from_db()
    assert project.settings == {"model": "small-1"}
    assert change(settings={"instructions": "Be brief."}).status_code == 200


def test_a_change_that_conflicts_with_stored_settings_is_refused(change: Change) -> None:
    AgentType.objects.update(settings_schema={"maxProperties": 2})
    change(settings={"model": "small-1", "x": 1})
    assert codes_of(change(settings={"y": 1})) == {("settings", "maxProperties")}
    assert change(settings={"y": 1, "x": None}).json()["settings"] == {"model": "small-1", "y": 1}


def test_many_small_changes_do_not_outgrow_the_limit(change: Change) -> None:
    AgentType.objects.update(settings_schema={})
    codes = [
        codes_of(answer) for n in range(5) if (answer := change(settings={f"x{n}": "y" * 5000})).status_code == 400
    ]
    assert codes == [{("settings", "too_long")}] * 2


@pytest.mark.parametrize("settings", [None, [], "x", 5, True])
def test_the_settings_as_a_whole_cannot_be_removed_or_replaced(change: Change, project: Project, settings: Any) -> None:
    change(settings={"allowed_users": [7]})
    assert_problem(change(settings=settings), 400, "invalid")
    project.refresh_from_db()
    assert project.settings == {"allowed_users": [7]}


def test_an_event_names_only_the_changed_settings(change: Change, project: Project) -> None:
    change(settings={"model": "small-1", "allowed_users": [7]})
    Event.objects.all()._raw_delete("default")
    same = {"name": project.name, "plan": "pro"}
    change(**same, settings={"model": "small-1", "allowed_users": [7], "instructions": None})
    assert updates(project) == []
    change(name="Renamed", plan="pro", apiKey=CANARY_OTHER_API_KEY, settings={"model": None})
    assert updates(project) == ["changed: api_key, name, settings.model"]


def test_an_event_counts_the_names_beyond_its_length(change: Change, project: Project) -> None:
    AgentType.objects.update(settings_schema={})
    change(settings={f"{number:02}" + "x" * 100: 1 for number in range(20)})
    [detail] = updates(project)
    assert len(detail) <= 300
    assert detail.startswith("changed: settings.00xxx")
    assert detail.endswith(" and 17 more")


def test_the_schema_of_the_api_says_that_settings_are_merged(api: APIClient) -> None:
    document = json.loads(api.get("/api/schema?format=json").content)
    [description] = [
        properties["settings"]["description"]
        for name, component in document["components"]["schemas"].items()
        if (properties := component.get("properties", {})) and "Change" in name and "settings" in properties
    ]
    assert "RFC 7396" in description


def test_an_invalid_stored_address_does_not_block_other_changes(project: Project, alice: User, api: APIClient) -> None:
    """For example one that was stored before there was this check, or this name in it."""
    stored, new = ({"search_url": f"https://s.example/?{name}_secret=x"} for name in ("app", "other"))
    AgentType.objects.update(settings_schema={})
    Project.objects.update(settings=stored | {"mcp": [stored["search_url"]]})
    path = f"/api/projects/{project.pk}"
    kept = api.patch(path, {"settings": {"model": "one", "mcp": ["https://m.example", *stored.values()]}})
    assert kept.status_code == 200, kept.content
    assert codes_of(api.patch(path, {"settings": new})) == {("settings.search_url", "credential")}
    form = {"name": "Other", "plan": project.plan_id}
    answer = browser_of(alice).post(f"/projects/{project.pk}/change", form)
    assert answer.status_code == 302, answer.content.decode()
