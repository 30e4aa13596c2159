"""Commands to many projects at once, with a result for each."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.models import User
from projects.dashboard.content import bulk
from projects.models import Event, Project
from projects.rules.status.lifecycle import Desired
from tests.deploying import token_of_bot
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import text_of

pytestmark = pytest.mark.one_database


@pytest.fixture
def three(deploy: Callable[..., Project]) -> list[Project]:
    names = ("Harbour pilot", "Night watch", "Tide tables")
    return [deploy(name=name, telegramToken=token_of_bot(4_000_000_000 + n)) for n, name in enumerate(names)]


def send(dashboard: Client, action: str, projects: Any, **fields: Any) -> Any:
    ids = [str(getattr(project, "pk", project)) for project in projects]
    return dashboard.post("/projects/bulk", {"action": action, "project": ids, **fields})


@pytest.mark.parametrize(
    ("action", "state", "said"),
    [("start", "running", "It ran already."), ("stop", "exited", "Stopped."), ("restart", "running", "Restarted.")],
)
def test_each_chosen_project_gets_the_command_and_its_result(
    dashboard: Client, three: list[Project], engine: MemoryEngine, action: str, state: str, said: str
) -> None:
    answer = send(dashboard, action, three[:2])
    assert answer.status_code == 200
    text = text_of(answer)
    assert (text.count(said), "Nothing is left to be done." in text) == (2, True)
    assert [engine.containers[each.container_name].state for each in three] == [state, state, "running"]
    told = {(event.project_id, event.actor, event.source) for event in Event.objects.filter(action=action)}
    assert told == {(each.pk, "alice@example.com", "dashboard") for each in three[:2]}


def test_a_refusal_of_one_project_stops_no_other(dashboard: Client, three: list[Project], engine: MemoryEngine) -> None:
    Project.objects.filter(pk=three[0].pk).update(suspended_at=timezone.now())
    gone = uuid.uuid4()
    text = text_of(send(dashboard, "restart", [three[0], gone, three[1]]))
    assert "Harbour pilot : “Harbour pilot” is suspended." in text
    assert "It is gone." in text
    assert "Night watch : Restarted." in text


def test_a_strangers_projects_are_as_if_they_never_existed(bob: User, three: list[Project]) -> None:
    client = Client()
    client.force_login(bob)
    for action in ("start", "stop", "restart", "delete"):
        fields = {"confirmed": "on"} if action == "delete" else {}
        made_up = [uuid.uuid4() for _ in three]
        theirs = text_of(send(client, action, three, **fields))
        nothing = text_of(send(client, action, made_up, **fields))
        for project, other in zip(three, made_up, strict=True):  # the sample request names what was sent
            nothing = nothing.replace(str(other), str(project.pk))
        assert theirs == nothing
        assert three[0].name not in theirs
    assert "Harbour pilot" not in text_of(send(client, "delete", three))
    assert set(Project.objects.values_list("desired", flat=True)) == {Desired.RUNNING}
    assert not Event.objects.exclude(action="deploy").exists()


def test_many_projects_are_deleted_only_after_their_number_was_typed(
    dashboard: Client, three: list[Project], engine: MemoryEngine
) -> None:
    asked = send(dashboard, "delete", three[:2])
    assert "Delete 2 projects? Night watch Harbour pilot" in text_of(asked)
    for number in ("", "3", "two", "-2"):
        refused = send(dashboard, "delete", three[:2], number=number)
        assert refused.status_code == 400
        assert Project.objects.count() == 3
    text = text_of(send(dashboard, "delete", three[:2], number="2"))
    assert (text.count("Deleted."), Project.objects.get().pk) == (2, three[2].pk)
    assert list(engine.containers) == [three[2].container_name]


def test_projects_beyond_the_time_limit_are_continued(
    dashboard: Client, three: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH_SECONDS", 0)
    first = send(dashboard, "stop", three)
    assert "Harbour pilot : Stopped. 2 left." in text_of(first)
    rest = [str(each) for each in first.context["rest"]]
    assert rest == [str(each.pk) for each in three[1:]]
    assert all(f'name="project" value="{each}"' in first.content.decode() for each in rest)
    part = dashboard.post(
        "/projects/bulk", {"action": "stop", "project": rest, "confirmed": "on"}, headers={"HX-Request": "true"}
    )
    assert part.content.lstrip().startswith(b"<li")
    assert b'<div id="rest" hx-swap-oob="true">' in part.content
    assert "Night watch : Stopped. 1 left." in text_of(part)


def test_a_session_that_ends_during_the_request_sends_no_further_command(
    dashboard: Client, three: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.services.still_signed_in.ASK_AGAIN_AFTER", 0.0)
    engine.slow("stop", lambda: Session.objects.all().delete())
    answer = send(dashboard, "stop", three)
    assert answer.headers["Location"] == "/sign-in?next=/projects/bulk"
    assert Event.objects.filter(action="stop").count() == 1


def test_a_sign_in_page_never_replaces_a_result(dashboard: Client, three: list[Project]) -> None:
    assert "/berth/elsewhere" in send(dashboard, "stop", three[:1]).content.decode()


def test_each_project_counts_as_a_command_of_the_minute(
    dashboard: Client, three: list[Project], settings: Any, engine: MemoryEngine
) -> None:
    settings.BERTH_LIMITS = {"commands": 2}
    answer = send(dashboard, "stop", three)
    assert answer.status_code == 200
    assert text_of(answer).count("Stopped.") == 2
    assert "1 left. You have given as many commands as are allowed in a minute. Continue in" in text_of(answer)
    assert engine.containers[three[2].container_name].state == "running"
    assert send(dashboard, "stop", three[2:]).status_code == 429


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"action": "stop"}, "Choose at least one project."),
        ({"action": "stop", "project": ["x", "1"]}, "Choose projects from the list."),
        ({"action": "stop", "project": ["\0"]}, "Choose projects from the list."),
        ({"action": "stop", "project": [str(uuid.UUID(int=n)) for n in range(201)]}, "Choose at most 200 projects"),
        ({"action": "explode", "project": [str(uuid.UUID(int=1))]}, "Choose start, stop, restart or delete."),
        ({"project": [str(uuid.UUID(int=1))]}, "Choose start, stop, restart or delete."),
    ],
)
def test_an_invalid_form_is_explained_on_the_list(dashboard: Client, fields: dict[str, Any], sentence: str) -> None:
    answer = dashboard.post("/projects/bulk", fields, follow=True)
    assert answer.redirect_chain == [("/", 302)]
    assert sentence in text_of(answer)


def test_reading_the_address_leads_to_the_list_and_a_form_without_its_token_does_nothing(
    dashboard: Client, alice: User, three: list[Project]
) -> None:
    assert dashboard.get("/projects/bulk").headers["Location"] == "/"
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert send(client, "stop", three).status_code == 403
    assert set(Project.objects.values_list("desired", flat=True)) == {Desired.RUNNING}
