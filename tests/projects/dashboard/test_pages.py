"""The projects' pages: what an owner sees and does, and that a stranger sees nothing."""

import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from containers.engine import EngineRefusedError
from projects.models import Event, Plan, Project
from projects.rules.lifecycle import Desired, Operation
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
)
from tests.fakes.engine import MemoryEngine

Fields = dict[str, str]
PATHS = ["", "/control", "/change", "/delete"]


@pytest.fixture
def dashboard(alice: User) -> Client:
    """Alice's browser."""
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def fields() -> Fields:
    """A good form for a new project."""
    return {
        "id": str(uuid.uuid4()),
        "name": "Harbour pilot",
        "type": "assistant",
        "plan": "pro",
        "telegram_token": CANARY_TELEGRAM_TOKEN,
        "api_key": CANARY_API_KEY,
        "instructions": "",
        "model": "",
        "allowed_users": "",
    }


@pytest.fixture
def page(dashboard: Client, project: Project) -> Callable[[], str]:
    """The page of Alice's project, as text."""
    return lambda: text_of(dashboard.get(path_of(project)))


def path_of(project: Project, below: str = "") -> str:
    return f"/projects/{project.pk}{below}"


def text_of(answer: Any) -> str:
    """What a reader gets to read, without the tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def press(dashboard: Client, project: Project, action: str) -> Any:
    return dashboard.post(path_of(project, "/control"), {"action": action})


def sensible_buttons(dashboard: Client, project: Project) -> list[str]:
    return re.findall(
        r'name="action" value="(\w+)"(?: class="primary")?>', dashboard.get(path_of(project)).content.decode()
    )


# -- who ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/projects/new", *(f"/projects/{uuid.uuid4()}{below}" for below in PATHS)])
@pytest.mark.parametrize("method", ["get", "post"])
def test_nobody_is_sent_to_the_sign_in_page(client: Client, db: None, path: str, method: str) -> None:
    answer = getattr(client, method)(path)
    assert (answer.status_code, answer.url) == (302, f"/sign-in?next={path}")


@pytest.mark.parametrize("below", PATHS)
@pytest.mark.parametrize("method", ["get", "head", "post", "put", "patch", "delete", "options"])
def test_a_strangers_project_is_answered_like_one_that_never_existed(
    bob: User, project: Project, method: str, below: str
) -> None:
    client = Client()
    client.force_login(bob)
    data = {"action": "stop", "name": project.name}

    theirs = getattr(client, method)(path_of(project, below), data)
    nothing = getattr(client, method)(f"/projects/{uuid.uuid4()}{below}", data)

    allowed = method in {"get", "head"} or (method == "post" and below)
    assert theirs.status_code == nothing.status_code == (404 if allowed else 405)
    assert text_of(theirs) == text_of(nothing)
    assert Project.objects.get().desired == Desired.RUNNING


def test_a_list_holds_only_ones_own(bob: User, project: Project) -> None:
    client = Client()
    client.force_login(bob)
    assert project.name not in text_of(client.get("/"))


@pytest.mark.parametrize("path", ["/projects/new", *(f"/projects/{{}}{below}" for below in PATHS[1:])])
def test_a_form_without_its_token_does_nothing(alice: User, project: Project, fields: Fields, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    sent = {**fields, "action": "stop", "telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "name": project.name}

    assert client.post(path.format(project.pk), sent).status_code == 403
    assert Project.objects.get().desired == Desired.RUNNING


def test_names_and_logs_are_shown_as_text(
    dashboard: Client, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    project = deploy(name="<script>alert(1)</script>", settings={"model": "<b>bold"})
    engine.log(project.container_name, "<img src=x>")
    for path in ("/", *(path_of(project, below) for below in ("", "/change", "/delete"))):
        content = dashboard.get(path).content
        assert b"<script>alert" not in content
        assert b"<img src=x" not in content
        assert b"<b>" not in content


# -- the list -------------------------------------------------------------------------------------------------------


def test_an_empty_list_invites_to_the_first_deploy(dashboard: Client) -> None:
    answer = dashboard.get("/")
    assert "Deploy your first agent" in text_of(answer)
    assert b'href="/projects/new"' in answer.content


def test_a_project_is_listed_with_bot_status_plan_and_day(dashboard: Client, project: Project) -> None:
    Project.objects.update(bot_username="harbour_bot")
    answer = dashboard.get("/")
    text = text_of(answer)
    assert b'href="https://t.me/harbour_bot"' in answer.content
    for shown in ("Harbour pilot", "@harbour_bot", "Running", "pro", f"{project.created_at:%b %Y}"):
        assert shown in text


def test_the_list_says_why_a_project_is_not_well(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    Project.objects.update(observed_at=None)
    engine.crash(project.container_name, exit_code=30)
    assert "The provider refused the API key." in text_of(dashboard.get("/"))


def test_a_silent_engine_makes_the_list_unknown_and_not_an_error(
    dashboard: Client, project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    engine.unavailable = True
    answer = dashboard.get("/")
    assert answer.status_code == 200
    assert "Unknown" in text_of(answer)


# -- deploying ------------------------------------------------------------------------------------------------------


def test_the_form_deploys_what_it_says(dashboard: Client, fields: Fields, engine: MemoryEngine) -> None:
    settings = {"instructions": "Be\r\nbrief.", "model": "gpt-4o-mini", "allowed_users": "@alice_a, 12345\r\n@bob_b"}
    answer = dashboard.post("/projects/new", {**fields, **settings}, follow=True)

    project = Project.objects.get()
    assert answer.redirect_chain == [(path_of(project), 302)]
    assert "“Harbour pilot” is deployed." in text_of(answer)
    assert "Running" in text_of(answer)
    assert project.plan_id == "pro"
    assert project.settings == {
        "instructions": "Be\nbrief.",
        "model": "gpt-4o-mini",
        "allowed_users": ["@alice_a", "12345", "@bob_b"],
    }
    assert set(engine.secrets_of(project.container_name).values()) == {CANARY_TELEGRAM_TOKEN, CANARY_API_KEY}
    event = Event.objects.get()
    assert (event.actor, event.source, event.address) == ("alice@example.com", "dashboard", "127.0.0.1")


def test_the_form_begins_with_the_defaults(dashboard: Client) -> None:
    content = dashboard.get("/projects/new").content.decode()
    assert '<option value="free" selected>free: 256 MB, 0.25 CPU, 1 project</option>' in content
    assert '<option value="assistant" selected>Assistant</option>' in content


def test_a_form_sent_twice_deploys_once(dashboard: Client, fields: Fields) -> None:
    first, second = (dashboard.post("/projects/new", fields) for _ in range(2))
    assert first.headers["Location"] == second.headers["Location"] == path_of(Project.objects.get())


def test_a_form_sent_again_with_other_content_asks_and_then_deploys(dashboard: Client, fields: Fields) -> None:
    dashboard.post("/projects/new", fields)
    other = {**fields, "name": "Second", "telegram_token": CANARY_OTHER_TELEGRAM_TOKEN}
    answer = dashboard.post("/projects/new", other)
    assert answer.status_code == 422
    assert "has deployed a project already" in text_of(answer)

    drawn = re.search(r'name="id" value="([^"]+)"', answer.content.decode())
    assert drawn
    assert dashboard.post("/projects/new", {**other, "id": drawn[1]}).status_code == 302
    assert Project.objects.count() == 2


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"name": ""}, "name", "may not be blank"),
        ({"name": "x" * 65}, "name", "no more than 64 characters"),
        ({"name": "a\x07b"}, "name", "control characters"),
        ({"name": "a\x00b"}, "name", "Null characters"),
        ({"plan": "huge"}, "plan", "Select a valid choice"),
        ({"type": "demon"}, "type", "Select a valid choice"),
        ({"telegram_token": ""}, "telegram_token", "needs it"),
        ({"telegram_token": "nonsense"}, "telegram_token", "BotFather"),
        ({"api_key": ""}, "api_key", "needs it"),
        ({"model": "m" * 101}, "model", "at most 100 characters"),
        ({"instructions": "i" * 8001}, "instructions", "at most 8000 characters"),
        (
            {"allowed_users": "@alice_a not!good"},
            "allowed_users",
            "Entry 2 does not fit. Telegram user ids or @usernames",
        ),
    ],
)
def test_bad_input_is_told_beside_its_field_and_loses_nothing_but_the_credentials(
    dashboard: Client, fields: Fields, change: Fields, field: str, sentence: str
) -> None:
    kept = {
        "name": "Kept name",
        "instructions": "Kept instructions",
        "model": "kept-model",
        "allowed_users": "@kept_one",
    }
    sent = {**fields, **kept, **change}
    answer = dashboard.post("/projects/new", sent)

    content = answer.content.decode()
    assert answer.status_code == 400
    beside = re.search(rf'<ul class="errorlist" id="id_{field}_error">(.*?)</ul>', content)
    assert beside
    assert sentence in beside[1]
    assert re.search(rf'id="id_{field}"[^>]*aria-describedby="[^"]*id_{field}_error"', content) or re.search(
        rf'aria-describedby="[^"]*id_{field}_error"[^>]*id="id_{field}"', content
    )
    assert f'<a href="#id_{field}">' in content
    for name in kept.keys() - change.keys():
        assert kept[name] in content
    assert 'value="pro" selected' in content or "plan" in change
    for secret in ("telegram_token", "api_key"):
        assert not sent[secret] or sent[secret] not in content
    assert not Project.objects.exists()


def test_after_an_error_both_credentials_have_to_be_pasted_again_and_the_page_says_so(
    dashboard: Client, fields: Fields
) -> None:
    text = text_of(dashboard.post("/projects/new", {**fields, "name": ""}))
    assert "Paste again: Bot token and API key." in text
    assert text.count("Paste it again: no page ever repeats a credential.") == 2


def test_a_full_plan_is_a_403_that_keeps_the_form(dashboard: Client, deploy: Any, fields: Fields) -> None:
    deploy(plan="free", telegramToken=CANARY_OTHER_TELEGRAM_TOKEN)
    answer = dashboard.post("/projects/new", {**fields, "plan": "free", "instructions": "Kept"})
    assert answer.status_code == 403
    assert "The free plan allows 1 project(s)" in text_of(answer)
    assert b"Kept</textarea>" in answer.content


def test_a_bot_in_use_is_a_409_that_does_not_say_whose(bob: User, project: Project, fields: Fields) -> None:
    client = Client()
    client.force_login(bob)
    answer = client.post("/projects/new", {**fields, "name": "Mine now"})
    assert answer.status_code == 409
    assert "Another project already runs this Telegram bot" in text_of(answer)
    assert project.name not in text_of(answer)
    assert b"Mine now" in answer.content


def test_a_silent_engine_is_a_503_that_leaves_nothing_but_the_form(
    dashboard: Client, fields: Fields, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    answer = dashboard.post("/projects/new", fields)
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert b"Harbour pilot" in answer.content
    assert not Project.objects.exists()

    engine.unavailable = False
    assert dashboard.post("/projects/new", fields).status_code == 302


def test_a_missing_image_is_a_502(dashboard: Client, fields: Fields, engine: MemoryEngine) -> None:
    engine.images.clear()
    answer = dashboard.post("/projects/new", fields)
    assert answer.status_code == 502
    assert "is not on the engine" in text_of(answer)


# -- the page of a project ------------------------------------------------------------------------------------------


def test_the_page_tells_all_there_is_to_know(page: Callable[[], str], project: Project) -> None:
    text = page()
    for shown in (
        "Running",
        "Reload it to see how things stand now.",  # for who has scripts turned off
        "The agent is ready.",
        "Assistant",
        "pro: 1024 MB, 1 CPU",
        f"…{CANARY_TELEGRAM_TOKEN[-4:]}",
        f"…{CANARY_API_KEY[-4:]}",
        "Restarts since 0",
        f"{project.created_at:%H:%M} UTC",
        str(project.pk),
    ):
        assert shown in text


@pytest.mark.parametrize(
    ("exit_code", "sentence"),
    [
        (20, "Telegram refused the bot token. Paste a new one from @BotFather, then start."),
        (31, "The provider account has no credit left."),
        (1, "The agent crashed (exit code 1)."),
    ],
)
def test_a_crash_is_told_in_plain_words_with_the_end_of_the_log(
    page: Callable[[], str], project: Project, engine: MemoryEngine, exit_code: int, sentence: str
) -> None:
    for number in range(25):
        engine.log(project.container_name, f"line-{number:02}")
    engine.crash(project.container_name, exit_code=exit_code)
    Project.objects.update(observed_at=None)
    text = page()
    assert "Crashed" in text
    assert sentence in text
    assert [text.count(f"line-{number:02}") for number in (4, 5, 24)] == [1, 2, 2]


def test_the_log_is_its_last_hundred_lines_without_credentials(
    page: Callable[[], str], project: Project, engine: MemoryEngine
) -> None:
    for number in range(150):
        engine.log(project.container_name, f"line-{number:03} {CANARY_API_KEY}")
    text = page()
    assert "line-049" not in text
    assert "line-050 [redacted]" in text
    assert "line-149 [redacted]" in text


def test_a_silent_engine_is_a_sentence_where_the_log_would_be(
    page: Callable[[], str], project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    engine.unavailable = True
    text = page()
    assert "Unknown" in text
    assert "Nothing is known about the agent until it does." in text
    assert "Last known: Running" in text
    assert text.count("The container engine does not answer.") == 2


def test_credentials_that_cannot_be_read_are_a_sentence_too(page: Callable[[], str], project: Project) -> None:
    Project.objects.update(api_key_ciphertext=project.telegram_token_ciphertext)
    assert "The stored credentials cannot be read" in page()


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"suspended_at": timezone.now()}, "The staff suspended this project."),
        ({"desired": Desired.DELETED}, "are being removed"),
        (
            {
                "operation": Operation.STOP,
                "operation_id": uuid.uuid4(),
                "operation_deadline": timezone.now() + timedelta(hours=1),
            },
            "The agent is being stopped.",
        ),
    ],
)
def test_states_that_need_it_are_explained(
    page: Callable[[], str], project: Project, engine: MemoryEngine, state: dict[str, Any], shown: str
) -> None:
    engine.exit(project.container_name)
    Project.objects.update(**state, observed_at=None)
    assert shown in page()


def test_events_tell_who_did_what_and_from_where(dashboard: Client, page: Callable[[], str], project: Project) -> None:
    press(dashboard, project, "stop")
    text = page()
    assert "Stop : done alice@example.com dashboard, 127.0.0.1" in text
    assert "Deploy : done alice@example.com session, 127.0.0.1" in text


# -- start, stop, restart -------------------------------------------------------------------------------------------


def test_only_the_sensible_buttons_can_be_pressed(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    assert sensible_buttons(dashboard, project) == ["stop", "restart"]
    press(dashboard, project, "stop")
    assert sensible_buttons(dashboard, project) == ["start"]
    press(dashboard, project, "start")
    engine.crash(project.container_name, exit_code=20)
    Project.objects.update(observed_at=None)
    assert sensible_buttons(dashboard, project) == ["start", "stop"]
    Project.objects.update(suspended_at=timezone.now())
    assert sensible_buttons(dashboard, project) == []
    Project.objects.update(desired=Desired.DELETED)
    assert sensible_buttons(dashboard, project) == []


@pytest.mark.parametrize(
    ("action", "sentence", "state"),
    [("stop", "is stopped.", "exited"), ("start", "is started.", "running"), ("restart", "is restarted.", "running")],
)
def test_a_button_does_what_it_says(
    dashboard: Client, project: Project, engine: MemoryEngine, action: str, sentence: str, state: str
) -> None:
    answer = press(dashboard, project, action)
    assert (answer.status_code, answer.url) == (302, path_of(project))
    assert sentence in text_of(dashboard.get(answer.url))
    assert engine.containers[project.container_name].state == state


def test_reading_the_address_of_the_buttons_leads_to_the_page(dashboard: Client, project: Project) -> None:
    assert dashboard.get(path_of(project, "/control")).headers["Location"] == path_of(project)


def test_an_unknown_action_is_a_400(dashboard: Client, project: Project) -> None:
    assert press(dashboard, project, "explode").status_code == 400
    assert dashboard.post(path_of(project, "/control")).status_code == 400


def test_a_command_while_another_is_under_way_is_a_409(dashboard: Client, project: Project) -> None:
    later = timezone.now() + timedelta(hours=1)
    Project.objects.update(operation=Operation.RESTART, operation_id=uuid.uuid4(), operation_deadline=later)
    answer = press(dashboard, project, "start")
    assert (answer.status_code, answer["Retry-After"]) == (409, "5")
    assert "Another command is being carried out" in text_of(answer)
    assert "Recent log" in text_of(answer)


def test_a_suspended_project_cannot_be_started(dashboard: Client, project: Project) -> None:
    Project.objects.update(suspended_at=timezone.now())
    assert press(dashboard, project, "start").status_code == 409


def test_a_start_on_a_silent_engine_is_a_503_and_a_stop_is_promised(
    dashboard: Client, project: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    assert press(dashboard, project, "restart").status_code == 503
    answer = press(dashboard, project, "stop")
    assert answer.status_code == 302
    assert "is stopped as soon as it does" in text_of(dashboard.get(answer.url))
    assert Project.objects.get().desired == Desired.STOPPED


def test_a_refusing_engine_is_a_502(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    press(dashboard, project, "stop")
    engine.fail("deploy", EngineRefusedError("The disk is full."))
    answer = press(dashboard, project, "start")
    assert answer.status_code == 502
    assert "The disk is full." in text_of(answer)


# -- changing -------------------------------------------------------------------------------------------------------


@pytest.fixture
def change(dashboard: Client) -> Callable[..., Any]:
    """Send the form of a change as the browser would: all that it shows, and what is given here."""

    def send(project: Project, **fields: str) -> Any:
        shown = dashboard.get(path_of(project, "/change")).context["form"].initial
        return dashboard.post(path_of(project, "/change"), {**shown, **fields})

    return send


def test_a_form_that_changes_nothing_changes_nothing(deploy: Any, change: Any, dashboard: Client) -> None:
    settings = {"allowed_users": [5, "@alice_a"], "provider": "openai", "instructions": " two\nlines "}
    project = deploy(settings=settings)
    answer = change(project, instructions=" two\r\nlines ")
    assert "Nothing was changed." in text_of(dashboard.get(answer.url))
    assert Project.objects.get().settings == settings
    assert not Event.objects.filter(action="update").exists()


def test_what_the_form_does_not_show_is_kept(deploy: Any, change: Any) -> None:
    project = deploy(settings={"allowed_users": [5], "provider": "openai", "model": "old"})
    assert change(project, model="", instructions="New", name="Renamed").status_code == 302
    changed = Project.objects.get()
    assert changed.name == "Renamed"
    assert changed.settings == {"allowed_users": [5], "provider": "openai", "instructions": "New"}


def test_new_credentials_reach_the_agent_with_restart_now(change: Any, project: Project, engine: MemoryEngine) -> None:
    sent = {"telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "api_key": CANARY_OTHER_API_KEY}
    assert change(project, **sent).status_code == 302
    before = set(engine.secrets_of(project.container_name).values())
    assert before == {CANARY_TELEGRAM_TOKEN, CANARY_API_KEY}

    change(project, restart="on")
    assert set(engine.secrets_of(project.container_name).values()) == set(sent.values())


def test_a_plan_that_is_no_longer_offered_can_be_kept(change: Any, project: Project) -> None:
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


def test_a_deletion_that_a_silent_engine_delays_is_said(
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


# -- credentials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", *(f"/projects/{{}}{below}" for below in ("", "/change", "/delete"))])
def test_no_page_holds_a_credential_not_even_encrypted(dashboard: Client, project: Project, path: str) -> None:
    content = dashboard.get(path.format(project.pk)).content.decode()
    for secret in (
        CANARY_API_KEY,
        CANARY_TELEGRAM_TOKEN,
        project.api_key_ciphertext,
        project.telegram_token_ciphertext,
    ):
        assert secret not in content


def test_credential_fields_are_never_filled_in(
    change: Any, dashboard: Client, project: Project, fields: Fields
) -> None:
    secrets = {"telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "api_key": CANARY_OTHER_API_KEY}
    for answer in (
        dashboard.post("/projects/new", {**fields, **secrets, "name": ""}),
        change(project, name="", **secrets),
    ):
        inputs = re.findall(r'<input type="password"[^>]*>', answer.content.decode())
        assert len(inputs) == 2
        for field in inputs:
            assert 'autocomplete="off"' in field
            assert "value=" not in field


# -- limits ---------------------------------------------------------------------------------------------------------


def test_forms_count_like_requests_of_the_api(dashboard: Client, project: Project, settings: Any) -> None:
    settings.BERTH_LIMITS = {"commands": 1, "deploys": 0}
    control = f"{path_of(project)}/control"
    assert dashboard.post(control, {"action": "stop"}).status_code == 302
    answer = dashboard.post(control, {"action": "start"})
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert "Too many commands within a minute." in answer.content.decode()


def test_a_secret_that_cannot_be_read_is_a_sentence(dashboard: Client, project: Project, settings: Any) -> None:
    settings.BERTH_ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    answer = dashboard.post(f"{path_of(project)}/control", {"action": "restart"})
    assert answer.status_code == 409
    assert "cannot be decrypted" in answer.content.decode()
