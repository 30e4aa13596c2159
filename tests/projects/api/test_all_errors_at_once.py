"""One answer names everything that is wrong with a body, however the mistakes are combined."""

from itertools import combinations
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from tests.problem_document import assert_problem, codes_of
from tests.sampling import Some

pytestmark = pytest.mark.one_database

LACKS = object()

MISTAKES: dict[str, tuple[str, Any]] = {
    "no name": ("name", LACKS),
    "an empty name": ("name", ""),
    "a name of another type": ("name", 5),
    "a hidden character": ("name", "a\u200bb"),
    "an unknown plan": ("plan", "nope"),
    "a plan that is too small": ("plan", "free"),
    "an unknown type": ("type", "nope"),
    "no token": ("telegramToken", LACKS),
    "a token of another shape": ("telegramToken", "abc"),
    "no key": ("apiKey", LACKS),
    "an empty key": ("apiKey", ""),
    "a setting of another type": ("settings", {"model": 5}),
    "an unknown setting": ("settings", {"modle": "x"}),
    "settings of another type": ("settings", []),
    "a budget of another type": ("budget", {"day_tokens": "5"}),
    "an unknown egress": ("egress", "nope"),
    "an unknown field": ("nope", 1),
}


@pytest.fixture(autouse=True)
def _a_plan_is_too_small(project: Project, settings: Any) -> None:
    settings.BERTH_LIMITS = {}
    AgentType.objects.update(min_memory_mb=300)
    Plan.objects.exclude(slug="free").update(memory_mb=512)


def with_mistakes(body: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    changed = body | ({"plan": "pro"} if body else {}) | dict(MISTAKES[name] for name in names)
    return {field: value for field, value in changed.items() if value is not LACKS}


def needs_a_type(name: str) -> bool:
    """Only the type says what credentials it needs, how much memory, and which settings it has."""
    field, value = MISTAKES[name]
    return (value is LACKS and field != "name") or value == "free" or (field == "settings" and value != [])


def found(api: APIClient, path: str, body: dict[str, Any]) -> set[tuple[Any, str]]:
    answer = api.patch(path, body) if path.count("/") == 3 and "validate" not in path else api.post(path, body)
    assert_problem(answer, 400, "invalid")
    return codes_of(answer)


@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/validate"])
def test_all_mistakes_in_a_new_project_are_named(path: str, api: APIClient, body: dict[str, Any], some: Some) -> None:
    one_by_one = {name: found(api, path, with_mistakes(body, (name,))) for name in MISTAKES}
    assert all(one_by_one.values())
    groups = [group for size in (2, 3, 4) for group in combinations(MISTAKES, size)]
    for group in some(groups, one_in=41):
        if len({MISTAKES[name][0] for name in group}) < len(group):
            continue
        is_of_a_type = "an unknown type" not in group
        expected = {code for name in group if is_of_a_type or not needs_a_type(name) for code in one_by_one[name]}
        assert found(api, path, with_mistakes(body, group)) == expected, group


def test_a_body_without_fields_names_all_that_are_needed(api: APIClient, project: Project) -> None:
    assert found(api, "/api/projects", {"plan": "pro"}) == {
        ("name", "required"),
        ("telegramToken", "required"),
        ("apiKey", "required"),
    }


def test_all_mistakes_in_a_change_are_named(api: APIClient, project: Project, some: Some) -> None:
    path = f"/api/projects/{project.pk}"
    mistakes = {name: mistake for name, mistake in MISTAKES.items() if mistake[1] is not LACKS and mistake[0] != "type"}
    one_by_one = {name: found(api, path, with_mistakes({}, (name,))) for name in mistakes}
    groups = [group for size in (2, 3) for group in combinations(mistakes, size)]
    for group in some(groups, one_in=11):
        if len({MISTAKES[name][0] for name in group}) == len(group):
            expected = {code for name in group for code in one_by_one[name]}
            assert found(api, path, with_mistakes({}, group)) == expected, group
