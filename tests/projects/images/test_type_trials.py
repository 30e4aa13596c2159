"""Trying an agent type: by the command and by the button of the admin."""

from dataclasses import replace
from io import StringIO
from threading import Event, Lock

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from containers.engine.images import ImageFacts
from containers.engine.trials import TrialRun
from containers.errors import EngineUnavailableError
from containers.vocabulary import ContainerSpec
from projects.models import AgentType
from projects.services.images.type_trial import GOING_ON, try_in_request
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_images import try_well

PAGE = "/admin/projects/agenttype/assistant/trial/"

pytestmark = pytest.mark.one_database


def run(*options: str) -> str:
    out = StringIO()
    call_command("test_type", *options, stdout=out, no_color=True)
    return out.getvalue()


def never_stops(spec: ContainerSpec, token: str, key: str) -> TrialRun:
    return replace(try_well(spec, token, key), stop_code=137, stopped_within=5.2)


def test_the_command_prints_a_line_for_each_promise(db: None, engine: MemoryEngine) -> None:
    lines = run("assistant").splitlines()
    assert len(lines) == 10
    assert {line[:3] for line in lines} == {"yes"}


def test_a_broken_contract_is_reported_with_its_exit_code(db: None, engine: MemoryEngine) -> None:
    engine.trial = never_stops
    with pytest.raises(CommandError, match="does not keep the contract") as raised:
        run("assistant")
    assert raised.value.returncode == 1


def test_the_trial_image_gets_the_same_as_agents_but_no_real_credential(db: None, engine: MemoryEngine) -> None:
    seen: list[tuple[ContainerSpec, str, str]] = []

    def see(spec: ContainerSpec, token: str, key: str) -> TrialRun:
        seen.append((spec, token, key))
        return try_well(spec, token, key)

    engine.trial = see
    AgentType.objects.filter(pk="assistant").update(variables="WHERE={telegram_api}\nTOKEN={telegram_token}")
    run("assistant", "--project-settings", '{"model": "some-model"}')
    spec, token, key = seen[0]
    assert {"AGENT_MODEL": "some-model", "AGENT_ALLOWED_USERS": "*", "TOKEN": token}.items() <= spec.environment.items()
    assert spec.environment["WHERE"] == spec.environment["TELEGRAM_API_BASE"] == "http://127.0.0.1:41000/tg"
    assert spec.secrets == {"telegram_bot_token": token, "agent_api_key": key}
    assert {other == token for _, other, _ in seen} == {other == key for _, _, other in seen} == {True, False}
    assert "berth.project" not in spec.labels
    assert "berth.instance" not in spec.labels


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["nothing"], "There is no agent type nothing."),
        (["assistant", "--within", "900"], "at most 500 seconds"),
        (["assistant", "--within", "nan"], "at most 500 seconds"),
        (["assistant", "--project-settings", "{"], "not JSON"),
        (["assistant", "--project-settings", "[" * 30_000], "nested more than 32 levels"),
        (["assistant", "--project-settings", '{"a": 1, "a": 1}'], "has the name “a” twice"),
        (["assistant", "--project-settings", '{"model": 7}'], "do not fit the schema"),
    ],
)
def test_the_trial_lists_what_it_cannot_test(db: None, engine: MemoryEngine, options: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        run(*options)


def test_a_missing_image_and_a_silent_engine_are_reported(ada: User, engine: MemoryEngine) -> None:
    AgentType.objects.filter(pk="assistant").update(image="my/own:1")
    assert "my/own:1 is not on the engine" in browser_of(ada).post(PAGE).content.decode()
    engine.unavailable = True
    assert "could not be tested" in browser_of(ada).post(PAGE).content.decode()


def test_variables_with_a_credential_need_the_gateway(ada: User, engine: MemoryEngine, settings: object) -> None:
    AgentType.objects.filter(pk="assistant").update(variables="TOKEN={telegram_token}")
    settings.BERTH_GATEWAY = False  # type: ignore[attr-defined]  # pytest-django's
    assert "it needs the gateway" in browser_of(ada).post(PAGE).content.decode()


def test_the_button_shows_the_table(ada: User, engine: MemoryEngine) -> None:
    assert 'action="/admin/projects/agenttype/assistant/trial/"' in (
        browser_of(ada).get("/admin/projects/agenttype/assistant/change/").content.decode()
    )
    page = browser_of(ada).post(PAGE).content.decode()
    assert "The image keeps the agent contract." in page
    assert page.count("<td>yes</td>") == 10
    engine.trial = never_stops
    assert "The image does not keep the agent contract." in browser_of(ada).post(PAGE).content.decode()


def test_an_image_without_a_declared_contract_is_reported(ada: User, engine: MemoryEngine) -> None:
    engine.described["berth/assistant:latest"] = ImageFacts(image_id="sha256:1")
    engine.trial = never_stops
    page = browser_of(ada).post(PAGE).content.decode()
    assert "The image keeps the agent contract." in page
    assert page.count("<td>n/a</td>") == 1


def test_only_admins_run_images(ada: User, sam: User, alice: User, engine: MemoryEngine) -> None:
    assert browser_of(sam).post(PAGE).status_code == 403
    assert browser_of(alice).post(PAGE).status_code == 302
    assert browser_of(ada).get(PAGE)["Location"] == "/admin/projects/agenttype/assistant/change/"
    assert browser_of(ada).put(PAGE).status_code == 405
    assert browser_of(ada).post(PAGE.replace("assistant", "nothing")).status_code == 404
    assert "Test the image" not in browser_of(sam).get("/admin/projects/agenttype/assistant/change/").content.decode()


def test_a_process_runs_one_trial_at_a_time(db: None, engine: MemoryEngine) -> None:
    agent_type = AgentType.objects.get(pk="assistant")
    inner: list[dict[str, object]] = []

    def try_again_meanwhile(spec: ContainerSpec, token: str, key: str) -> TrialRun:
        inner.append(try_in_request(agent_type))
        return try_well(spec, token, key)

    engine.trial = try_again_meanwhile
    assert try_in_request(agent_type)["is_kept"]
    assert inner
    assert all(each == {"refusal": GOING_ON} for each in inner)
    engine.trial = try_well
    assert try_in_request(agent_type)["is_kept"]


def test_a_trial_that_fails_is_over_when_the_next_may_begin(db: None, engine: MemoryEngine) -> None:
    """One of its three containers fails, and the others end before another click starts three more."""
    first, beside, returned, alone = Lock(), Event(), Event(), []

    def fail_or_go_on(spec: ContainerSpec, token: str, key: str) -> TrialRun:
        if first.acquire(blocking=False):
            assert beside.wait(30)
            raise EngineUnavailableError("The engine is gone.")
        beside.set()
        alone.append(not returned.wait(0.1))
        return try_well(spec, token, key)

    engine.trial = fail_or_go_on
    assert try_in_request(AgentType.objects.get(pk="assistant")) == {"refusal": "The engine is gone."}
    returned.set()
    assert alone
    assert all(alone)
