"""Every verb while an operation or an update of the image is under way: answer, event and row agree, wherever it is
asked for."""

from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Event, Project
from projects.rules.status.image_update import Step
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.api.commands import in_flight
from tests.projects.images.updating import NEW, OLD, path_of

pytestmark = pytest.mark.one_database

EVENTS = {"update": "new image", "clear": "clear memory"}
"""The actions of events, where they are not the verbs."""

STAFF = {"update": "update_images", "clear": "clear_memories", "delete": "delete_projects"}
UNDER_WAY = {"deploy", "start", "restart", "stop"}
STEPS = {f"update: {step}": step for step in Step if step}
Ask = Callable[[str, Project], tuple[bool, str]]
"""Asks for a verb. Returns whether it was refused, and all that the answer says."""


@pytest.fixture(autouse=True)
def _nobody_is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.services.commands.control.PATIENCE", 0.0)


def _over_the_api(api: APIClient) -> Ask:
    def ask(verb: str, project: Project) -> tuple[bool, str]:
        path = path_of(project)
        if verb in {"delete", "clear"}:
            answer = api.delete(path if verb == "delete" else f"{path}/memory")
        else:
            answer = api.post(f"{path}/update") if verb == "update" else api.post(f"{path}/control", {"action": verb})
        if answer.status_code >= 400:
            assert (answer.status_code, answer.json()["code"]) == (409, "operation_in_progress")
            assert 1 <= int(answer["Retry-After"]) <= 5
        said = answer.content.decode() if answer.status_code < 400 else answer.json()["detail"]
        return answer.status_code >= 400, said

    return ask


def _on_the_page(alice: User) -> Ask:
    browser = browser_of(alice)
    paths = {"update": "update", "clear": "memory", "delete": "delete"}

    def ask(verb: str, project: Project) -> tuple[bool, str]:
        path = f"/projects/{project.pk}/{paths.get(verb, 'control')}"
        answer = browser.post(path, {"action": verb, "name": project.name})
        assert answer.status_code in {302, 409}
        return answer.status_code == 409, unescape(answer.content.decode())

    return ask


def _by_staff(sam: User) -> Ask:
    admin: Client = browser_of(sam)

    def ask(verb: str, project: Project) -> tuple[bool, str]:
        form = {"action": STAFF.get(verb, verb), "_selected_action": [str(project.pk)], "confirm": project.name}
        said = unescape(admin.post("/admin/projects/project/", form, follow=True).content.decode())
        return '<li class="error">' in said, said

    return ask


@pytest.fixture(params=["api", "page", "staff"])
def ask(request: pytest.FixtureRequest, api: APIClient, alice: User, sam: User) -> Ask:
    return {"api": lambda: _over_the_api(api), "page": lambda: _on_the_page(alice), "staff": lambda: _by_staff(sam)}[
        request.param
    ]()


def expected(verb: str, state: str) -> str:
    """Returns the outcome of the event."""
    if state == "delete":
        return "recorded" if verb == "delete" else "failed"
    if state in UNDER_WAY:
        return {"stop": "recorded" if state == "stop" else "done", "delete": "done"}.get(verb, "failed")
    if verb == "update":
        return "recorded" if STEPS[state] == Step.COPY else "failed"
    return "nothing to do" if verb == "start" else "done"


def put_into(project: Project, state: str) -> None:
    if state in STEPS:
        Project.objects.update(update_step=STEPS[state], next_image_id=NEW, former_image_id=OLD)
    else:
        in_flight(project, state)
        desired = {"delete": "deleted", "stop": "stopped"}.get(state, "running")
        Project.objects.update(desired=desired)


def claim_of(row: Project) -> tuple[object, ...]:
    return row.desired, row.operation, row.operation_id, row.generation, row.update_step, row.next_image_id


@pytest.mark.sampled(3)
@pytest.mark.parametrize("state", [*sorted(UNDER_WAY), "delete", *STEPS])
@pytest.mark.parametrize("verb", ["start", "stop", "restart", "delete", "update", "clear"])
def test_answer_event_and_row_agree(outdated: Project, engine: MemoryEngine, ask: Ask, verb: str, state: str) -> None:
    put_into(outdated, state)
    before = Project.objects.get(pk=outdated.pk)
    calls, events = len(engine.calls), set(Event.objects.values_list("pk", flat=True))
    is_refused, said = ask(verb, outdated)

    told = Event.objects.exclude(pk__in=events).filter(project_id=outdated.pk).exclude(actor="system")
    outcome = expected(verb, state)
    assert [(event.action, event.outcome) for event in told] == [(EVENTS.get(verb, verb), outcome)]
    assert is_refused == (outcome == "failed"), said
    row = Project.objects.filter(pk=outdated.pk).first()
    if outcome == "failed":
        assert row is not None
        assert claim_of(row) == claim_of(before)
        assert not {"deploy", "stop", "remove"} & {call for call, _ in engine.calls[calls:]}
        sentence = "is being updated" if state in STEPS else "is being carried out"
        assert sentence in said or "could not be undone" in said, said
    elif row is not None:
        assert row.operation == ("" if outcome != "recorded" or state in STEPS else before.operation)


def test_a_repeated_request_takes_the_newest_image_and_says_so(
    api: APIClient, engine: MemoryEngine, outdated: Project
) -> None:
    """Until the update begins, a newer build counts."""
    newer = f"sha256:{'c' * 64}"
    for image in (NEW, newer):
        engine.described[outdated.agent_type.image] = engine.described[outdated.agent_type.image].__class__(
            image_id=image
        )
        assert api.post(f"{path_of(outdated)}/update").status_code == 202
        assert Project.objects.get(pk=outdated.pk).next_image_id == image
    assert list(Event.objects.filter(action="new image").values_list("outcome", flat=True)) == ["recorded"] * 2
