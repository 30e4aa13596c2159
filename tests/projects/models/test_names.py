"""Typed names have no invisible characters: every column, every entrance, every such character."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import ApiKey, User
from accounts.text import UNSEEN, hides_something
from projects.models import AgentType, Project
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.clients import browser_of
from tests.projects.hidden_characters import BESIDE, hidden, sample
from tests.projects.models.name_columns import NAMES, TYPED_BY_NOBODY, text_columns

NEEDED = {
    "family": "👩‍👩‍👧‍👦",
    "astronaut of a skin tone": "👩🏽‍🚀",
    "heart on fire": "❤️‍🔥",
    "pilot": "👨‍✈️",
    "rainbow flag": "🏳️‍🌈",
    "Scotland": "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "keycap": "1️⃣",
    "copyright": "©️",
    "newer than the tables": "\U0001fa77",
    "Persian": "می\u200cخواهم",  # noqa: RUF001 - Persian
    "Sinhala": "ශ්\u200dරී",
    "Malayalam": "ന്\u200d",
    "variant of an ideograph": "葛\U000e0100飾区",
    "Hebrew": "שלום",
    "Greek accents": "ἄνδρα",
    "combining marks": "e\u0301",
}


MISPLACED = {
    "joiner of letters": "a\u200db",
    "joiner at the end": "👩\u200d",
    "joiner before a letter": "👩\u200da",
    "two joiners": "👩\u200d\u200d👧",
    "non-joiner of Latin": "a\u200cb",
    "non-joiner at the end": "می\u200c",
    "selector of a letter": "a\ufe0f",
    "two selectors": "❤\ufe0f\ufe0f",
    "selector of an ideograph after a letter": "a\U000e0100",
    "tags without a flag": "a\U000e0067\U000e0062\U000e007f",
    "tags without an end": "🏴\U000e0067\U000e0062",
    "an end without tags": "🏴\U000e007f",
    "a second end": "🏴\U000e0067\U000e007f\U000e007f",
    "tags after the end": "🏴\U000e0067\U000e007f\U000e0067",
    "language tag": "🏴\U000e0001",
    "override": "photo\u202egpj.exe",
    "isolate": "\u2066x\u2069",
    "byte order mark": "\ufeffa",
    "selector of a digit": "7\ufe0f8",
    "selector of an ideograph after Mongolian": "\u1820\U000e0100",
    "soft hyphen": "pay\u00adpal",
    "noncharacter of the emoji": "\U0001fffe",
}


def refuses(field: Any, text: str) -> bool:
    try:
        field.run_validators(text)
    except ValidationError:
        return True
    return False


@pytest.mark.one_database
def test_the_columns_that_take_names_are_these() -> None:
    assert {"projects.project.name", "accounts.apikey.name", "projects.agenttype.title"} <= set(NAMES)
    assert TYPED_BY_NOBODY.keys() <= text_columns().keys()


@pytest.mark.one_database
def test_no_hidden_character_is_accepted_as_visible() -> None:
    assert [hex(ord(each)) for each in sample() if not hides_something(f"a{each}b")] == []


@pytest.mark.one_database
def test_visible_names_are_accepted() -> None:
    """Every letter, mark, number, sign and blank of the first plane, and one in a hundred of the others."""
    unseen = set(hidden())
    seen = [chr(number) for number in (*range(0x10000), *range(0x10000, 0x110000, 97)) if chr(number) not in unseen]
    assert [hex(ord(each)) for each in seen if hides_something(f"a{each}b")] == []


@pytest.mark.one_database
@pytest.mark.parametrize("column", NAMES)
def test_every_column_refuses_every_hidden_character(column: str) -> None:
    field = text_columns()[column]
    taken = [(form, hex(ord(each))) for form in BESIDE for each in sample() if not refuses(field, form.format(each))]
    assert taken == []
    assert [name for name, text in MISPLACED.items() if not refuses(field, text)] == []


@pytest.mark.one_database
@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_characters_that_scripts_and_emoji_need_are_accepted(text: str) -> None:
    assert not hides_something(text)
    assert not hides_something(f"My {text} bot")


@pytest.mark.one_database
@pytest.mark.parametrize("text", MISPLACED.values(), ids=MISPLACED)
def test_and_nowhere_else(text: str) -> None:
    assert hides_something(text)


Door = Callable[["Doors", str], str]


class Doors:
    """Every way to enter a name. Each returns the answer for the person."""

    def __init__(self, api: APIClient, page: Client, admin: Client, project: Project) -> None:
        self.api, self.page, self.admin, self.project = api, page, admin, project

    def create(self, name: str) -> str:
        body = {"name": name, "telegramToken": CANARY_TELEGRAM_TOKEN, "apiKey": CANARY_API_KEY}
        return self._told(self.api.post("/api/projects", body))

    def validate(self, name: str) -> str:
        body = {"name": name, "telegramToken": CANARY_TELEGRAM_TOKEN, "apiKey": CANARY_API_KEY}
        return self._told(self.api.post("/api/projects/validate", body))

    def rename(self, name: str) -> str:
        return self._told(self.api.patch(f"/api/projects/{self.project.pk}", {"name": name}))

    def key(self, name: str) -> str:
        return self._told(self.api.post("/api/auth/keys", {"name": name, "scope": "read"}))

    def deploy_form(self, name: str) -> str:
        return self._shown(self.page.post("/projects/new", {"name": name, "type": "assistant", "plan": "starter"}))

    def change_form(self, name: str) -> str:
        return self._shown(self.page.post(f"/projects/{self.project.pk}/change", {"name": name, "plan": "starter"}))

    def key_form(self, name: str) -> str:
        return self._shown(self.page.post("/settings/keys", {"name": name, "scope": "read", "lifetime": "90"}))

    def admin_type(self, name: str) -> str:
        return self._shown(self.admin.post("/admin/projects/agenttype/add/", {"slug": "mine", "title": name}))

    def _told(self, answer: Any) -> str:
        assert answer.status_code == 400, answer.content
        (error,) = [each for each in answer.json()["errors"] if each["field"] == "name"]
        return str(error["detail"])

    def _shown(self, answer: Any) -> str:
        assert answer.status_code in {200, 400, 422}
        page: str = answer.content.decode(errors="replace")
        return UNSEEN if UNSEEN in page else page


DOORS = ("create", "validate", "rename", "key", "deploy_form", "change_form", "key_form", "admin_type")


@pytest.mark.parametrize("door", DOORS)
def test_every_channel_gives_the_same_sentence(
    door: str, api: APIClient, alice: User, ada: User, project: Project
) -> None:
    doors = Doors(api, browser_of(alice), browser_of(ada), project)
    before = (Project.objects.get().name, ApiKey.objects.count(), AgentType.objects.count())
    for text in MISPLACED.values():
        assert getattr(doors, door)(f"x{text}x") == UNSEEN
    assert (Project.objects.get().name, ApiKey.objects.count(), AgentType.objects.count()) == before


def test_an_emoji_is_a_name(api: APIClient, project: Project) -> None:
    name = f"Harbour {NEEDED['family']}"
    assert api.patch(f"/api/projects/{project.pk}", {"name": name}).json()["name"] == name
