"""The forms that change and delete a project."""

from typing import Any

import pytest
from django.test import Client

from containers.errors import EngineRefusedError
from projects.models import Event, Plan, Project
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
)
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import Fields, path_of, text_of
from tests.projects.given_credentials import credentials_of


def test_a_form_that_changes_nothing_changes_nothing(deploy: Any, change: Any, dashboard: Client) -> None:
    settings = {"allowed_users": [5, "@alice_a"], "provider": "openai", "instructions": " two\nlines "}
    project = deploy(settings=settings)
    answer = change(project, instructions=" two\r\nlines ")
    assert "Nothing was changed." in text_of(dashboard.get(answer.url))
    assert Project.objects.get().settings == settings
    assert not Event.objects.filter(action="update").exists()


def test_settings_that_the_form_does_not_show_are_kept(deploy: Any, change: Any) -> None:
    project = deploy(settings={"allowed_users": [5], "provider": "openai", "model": "old"})
    assert change(project, model="", instructions="New", name="Renamed").status_code == 302
    changed = Project.objects.get()
    assert changed.name == "Renamed"
    assert changed.settings == {"allowed_users": [5], "provider": "openai", "instructions": "New"}


def test_new_credentials_reach_the_agent_at_once(change: Any, project: Project, engine: MemoryEngine) -> None:
    sent = {"telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "api_key": CANARY_OTHER_API_KEY}
    before = engine.containers[project.container_name].container_id
    assert change(project, **sent).status_code == 302
    assert set(credentials_of(engine, project).values()) == set(sent.values())
    assert engine.containers[project.container_name].container_id == before


def test_without_the_gateway_they_reach_it_with_restart_now(
    change: Any, deploy: Any, engine: MemoryEngine, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    project = deploy()
    sent = {"telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "api_key": CANARY_OTHER_API_KEY}
    assert change(project, **sent).status_code == 302
    before = set(engine.secrets_of(project.container_name).values())
    assert before == {CANARY_TELEGRAM_TOKEN, CANARY_API_KEY}

    change(project, restart="on")
    assert set(engine.secrets_of(project.container_name).values()) == set(sent.values())


def test_a_withdrawn_plan_can_be_kept(change: Any, project: Project) -> None:
    Plan.objects.filter(slug="pro").update(available=False)
    assert change(project, name="Renamed").status_code == 302
    assert Project.objects.get().plan_id == "pro"


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"name": ""}, 400, "may not be blank"),
        ({"telegram_token": "nonsense"}, 400, "BotFather"),
        ({"allowed_users": "no!"}, 400, "Entry 1 does not fit."),
        ({"telegram_token": CANARY_OTHER_TELEGRAM_TOKEN}, 409, "already runs this Telegram bot"),
    ],
)
def test_a_change_that_is_refused_keeps_the_form(
    deploy: Any, change: Any, project: Project, fields: Fields, status: int, sentence: str
) -> None:
    deploy(telegramToken=CANARY_OTHER_TELEGRAM_TOKEN, name="The other one")
    answer = change(project, **{"name": "Kept name", "instructions": "Kept", **fields})
    assert answer.status_code == status
    assert sentence in text_of(answer)
    assert b"Kept</textarea>" in answer.content
    project.refresh_from_db()
    assert project.name == "Harbour pilot"


def test_a_restart_that_is_refused_does_not_lose_the_change(
    change: Any, project: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    answer = change(project, name="Renamed", restart="on")
    assert answer.status_code == 503
    assert "The change is saved. The restart was refused: The container engine does not answer." in text_of(answer)
    assert Project.objects.get().name == "Renamed"


# -- deleting -------------------------------------------------------------------------------------------------------


def test_deleting_asks_for_the_name_first(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    answer = dashboard.post(path_of(project, "/delete"), {"name": "something else"})
    assert answer.status_code == 400
    assert "This is not its name." in text_of(answer)
    assert Project.objects.exists()

    answer = dashboard.post(path_of(project, "/delete"), {"name": project.name}, follow=True)
    assert answer.redirect_chain == [("/", 302)]
    assert "“Harbour pilot” is deleted." in text_of(answer)
    assert not engine.containers
    assert dashboard.get(path_of(project, "/delete")).status_code == 404


ALIKE = [("Two  blanks", "Two blanks"), ("Cafe\u0301", "Caf\u00e9"), ("Caf\u00e9", "Cafe\u0301"), ("a\u00a0b", "a b")]


@pytest.mark.parametrize(("stored", "typed"), ALIKE)
def test_what_looks_like_the_name_confirms_and_is_found(
    dashboard: Client, project: Project, stored: str, typed: str
) -> None:
    """A page shows one blank for two, and the same letter for both of its forms."""
    Project.objects.update(name=stored)
    assert path_of(project) in dashboard.get("/", {"q": typed.upper()}).content.decode()
    assert dashboard.post(path_of(project, "/delete"), {"name": typed.upper()}).status_code == 400
    assert dashboard.post(path_of(project, "/delete"), {"name": typed}).status_code == 302
    assert not Project.objects.exists()


def test_a_deletion_delayed_by_a_silent_engine_is_explained(
    dashboard: Client, project: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    text = text_of(dashboard.post(path_of(project, "/delete"), {"name": project.name}, follow=True))
    assert "is being deleted" in text
    assert "Deleting" in text


def test_a_deletion_that_the_engine_refuses_is_a_502(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    engine.fail("remove", EngineRefusedError("The volume is in use."))
    answer = dashboard.post(path_of(project, "/delete"), {"name": project.name})
    assert answer.status_code == 502
    assert "The volume is in use." in text_of(answer)
