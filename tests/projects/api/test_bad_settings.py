"""Settings that do not fit their agent type. Each gets the right problem document, and changes nothing."""

from typing import Any

import pytest

from projects.models import AgentType
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.sending import CREATING, WRITING, Sender, as_json

pytestmark = pytest.mark.usefixtures("nothing_comes_of_it")

NO_OBJECTS: list[Any] = ["", "x", 0, 1.5, True, [], [{}], [["model", "x"]]]
NO_USERS: list[Any] = [
    0, -1, 1.5, 7.0, True, None, [], {}, "", "@", "@ab", "alice", "@al ice", "@alice,7", "7,8", "@alice\n",
    "-1", 10**18 + 1, 10**400, "9" * 19,
]  # fmt: skip


def _each(name: str, code: str, *values: Any) -> list[tuple[Any, str, str]]:
    """Yields one case for each wrong value of a setting."""
    return [({name: value}, f"settings.{name}", code) for value in values]


SETTINGS: list[tuple[Any, str, str]] = [
    (None, "settings", "null"),
    *((value, "settings", "not_a_dict") for value in NO_OBJECTS),
    ({"mood": "bright"}, "settings.mood", "unknown"),
    ({"telegramToken": "1:x"}, "settings.telegramToken", "unknown"),
    ({"": 1}, "settings.", "unknown"),
    *_each("model", "type", None, 5, True, [], {}),
    ({"model": ""}, "settings.model", "minLength"),
    ({"model": "m" * 101}, "settings.model", "maxLength"),
    ({"instructions": "i" * 8001}, "settings.instructions", "maxLength"),
    ({"instructions": ["be", "kind"]}, "settings.instructions", "type"),
    *_each("provider", "enum", "mistral", "OpenAI", "", None, 5, [], {}),
    *_each("allowed_users", "type", "@alice", 7, {}, None, True),
    ({"allowed_users": list(range(1, 202))}, "settings.allowed_users", "maxItems"),
    ({"allowed_users": [7, 7]}, "settings.allowed_users", "uniqueItems"),
    *(({"allowed_users": [1, value]}, "settings.allowed_users.1", "anyOf") for value in NO_USERS),
    *(({"model": f"a{character}b"}, "settings", "control_characters") for character in "\x00\x1b\x7f\r\x08"),
    ({"instructions": "\ud83d"}, "settings", "control_characters"),
    ({"\ud800": "x"}, "settings", "control_characters"),
    ({"a\x00b": "x"}, "settings", "control_characters"),
    ({"model": {"nested": ["\x00"]}}, "settings", "control_characters"),
    ({"instructions": "i" * 17_000}, "settings", "too_long"),
    ({"x": ["y"] * 6_000}, "settings", "too_long"),
    ({"mcp": ["https://tools.example", "https://me:pw@tools.example"]}, "settings.mcp.1", "credential"),
    *_each("search_url", "credential", "https://tok@s.example/search", "https://s.example/?x=1&api_key=s3cr3t"),
]  # fmt: skip


@pytest.mark.parametrize("route", WRITING)
def test_settings_fit_the_schema_of_the_type(send: Sender, route: str) -> None:
    for settings, field, code in SETTINGS:
        if route == "change" and isinstance(settings, dict) and None in settings.values():
            continue  # in a change null removes the setting
        answer = send.with_(route, settings=settings)
        assert_problem(answer, 400, "invalid")
        assert (field, code) in codes_of(answer), ascii(settings)[:200]
        assert {name for name, _ in codes_of(answer)} == {field}


@pytest.mark.parametrize("route", WRITING)
def test_no_message_quotes_the_settings(send: Sender, route: str) -> None:
    """People paste credentials into the wrong field."""
    pasted = "sk-pasted-into-the-wrong-field"
    settings = {"provider": pasted, "model": [pasted], "instructions": {"x": pasted}, "allowed_users": [pasted]}
    answer = send.with_(route, settings=settings)
    assert_problem(answer, 400, "invalid")
    assert pasted not in answer.content.decode()


@pytest.mark.parametrize("route", WRITING)
def test_a_thousand_mistakes_in_the_settings_make_a_short_answer(send: Sender, route: str) -> None:
    answer = send.with_(route, settings={"allowed_users": [[number] for number in range(2000)]})
    assert_problem(answer, 400, "invalid")
    assert len(answer.content) < 8192


@pytest.mark.parametrize("route", CREATING)
def test_settings_without_a_schema_must_still_be_plain_json(send: Sender, route: str) -> None:
    before = AgentType.objects.get(slug="assistant").settings_schema
    AgentType.objects.filter(slug="assistant").update(settings_schema={})
    answer = send.raw(route, as_json(send.good(route)).replace(b'"name"', b'"settings": {"x": 1e400}, "name"'))
    assert_problem(answer, 400, "invalid")
    AgentType.objects.filter(slug="assistant").update(settings_schema=before)
