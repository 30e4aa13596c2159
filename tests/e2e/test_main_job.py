"""The README's first page: from an empty folder to an agent that answers, and back. With the gateway, as shipped."""

from pathlib import Path

import pytest

from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
    find_canary,
)
from tests.e2e.on_engine import gateways_of, has_virtual_credentials, is_paired, used
from tests.e2e.service import Service
from tests.e2e.settling import GENEROUS, carry_out, settle, sign_in, status_of
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.long.kills import kill_in_mid_talk
from tests.leftovers import remove_from_engine
from tests.try_out import Trial
from tests.waiting import wait_until
from tests.without_gateway import WITHOUT_GATEWAY

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

ALICE, STRANGER = 1001, 1066


@pytest.fixture(scope="module")
def token(service: Service) -> str:
    return sign_in(service)


def test_a_user_deploys_an_agent_and_it_answers(
    service: Service, token: str, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    wanted = {"name": "Harbour pilot", "type": "assistant", "plan": "free"}
    wanted |= {"telegramToken": CANARY_TELEGRAM_TOKEN, "apiKey": CANARY_API_KEY}
    created = settle(service, token, service.call("POST", "/api/projects?wait=30", wanted, token))
    project = created["id"]
    assert created["status"] == "running", created["status_reason"]
    link, _, code = created["bot"]["url"].partition("?start=")
    assert link == "https://t.me/harbour_bot"
    assert [(row["id"], row["status"]) for row in service.call("GET", "/api/projects", token=token).json] == [
        (project, "running")
    ]

    # It answers its owner, who has opened the link, and nobody else.
    for person, words in ((ALICE, "You are my owner now"), (STRANGER, "is no longer valid")):
        telegram.say(CANARY_TELEGRAM_TOKEN, person, f"/start {code}")
        telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, chat_id=person, containing=words, timeout=GENEROUS)
    wait_until(lambda: is_paired(service, token, project, link), within=GENEROUS, every=0.5)
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Is the tide in?")
    reply = telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Is the tide in?", timeout=GENEROUS)
    assert reply.chat_id == ALICE
    assert provider.asked()[-1].key == CANARY_API_KEY

    # Nothing on the engine gives a credential away, and the agent's container has none.
    [listed] = service.engine.containers(all=True, filters={"label": [f"berth.project={project}"]})
    name = listed["Id"]
    for container in (name, *gateways_of(service)):
        assert find_canary(str(service.engine.inspect_container(container))) is None
        assert find_canary(service.engine.logs(container)) is None
    assert has_virtual_credentials(service, project)

    # A new key is in use with the next message, by the same container.
    assert service.call("PATCH", f"/api/projects/{project}", {"apiKey": CANARY_OTHER_API_KEY}, token).status == 200
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "With another key?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="With another key?", timeout=GENEROUS)
    assert provider.asked()[-1].key == CANARY_OTHER_API_KEY
    assert [each["Id"] for each in service.engine.containers(filters={"label": [f"berth.project={project}"]})] == [name]

    # Stop: no further polls arrive.
    assert carry_out(service, token, project, "stop")["status"] == "stopped"
    polls = telegram.polls(CANARY_TELEGRAM_TOKEN).count
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Anybody there?")
    assert telegram.polls(CANARY_TELEGRAM_TOKEN).count == polls
    assert telegram.pending(CANARY_TELEGRAM_TOKEN) == 1

    # Start: what was said meanwhile is answered.
    assert carry_out(service, token, project, "start")["status"] == "running"
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Anybody there?", timeout=GENEROUS)

    # Restart: with what was changed.
    changed = service.call("PATCH", f"/api/projects/{project}", {"settings": {"model": "small-2"}}, token)
    assert changed.status == 200, changed.text
    assert carry_out(service, token, project, "restart")["status"] == "running"
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "With the new model?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="With the new model?", timeout=GENEROUS)
    assert provider.asked()[-1].model == "small-2"

    # What it has used is counted.
    assert wait_until(lambda: used(service, token, project), within=GENEROUS, every=0.5)["usage"]["today"]["tokens"]


def test_a_provider_that_refuses_the_key_at_deploy_time_is_a_400_on_the_field(service: Service, token: str) -> None:
    wanted = {
        "name": "No key",
        "plan": "starter",
        "telegramToken": CANARY_OTHER_TELEGRAM_TOKEN,
        "apiKey": "sk-unknown-to-the-provider",
    }
    answer = service.call("POST", "/api/projects", wanted, token)
    assert (answer.status, answer.json["errors"][0]["field"]) == (400, "apiKey")


def test_agents_outlive_the_service_and_a_second_run_finds_them(
    service: Service, token: str, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    kill_in_mid_talk(Trial(service, telegram, provider, CANARY_TELEGRAM_TOKEN))
    with pytest.raises(OSError, match="refused"):
        service.call("GET", "/healthz")
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Still there?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Still there?", timeout=GENEROUS)
    service.environment |= WITHOUT_GATEWAY  # for the next test
    service.start()
    assert service.call("GET", "/api/projects", token=token).json[0]["status"] == "running"


def test_the_gateway_is_switched_off_and_on_again_and_each_agent_changes_at_its_next_start(
    service: Service, token: str, telegram: FakeTelegram
) -> None:
    """The service is restarted each time, which is also part of another test."""
    [project] = [each["id"] for each in service.call("GET", "/api/projects", token=token).json]
    before = service.containers()
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Off?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Off?", timeout=GENEROUS)
    assert service.containers() == before
    assert has_virtual_credentials(service, project)
    carry_out(service, token, project, "restart")
    assert not has_virtual_credentials(service, project)
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "By yourself?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="By yourself?", timeout=GENEROUS)
    wait_until(lambda: not gateways_of(service), within=GENEROUS, every=0.5)
    del service.environment["BERTH_GATEWAY"]


def test_a_backup_comes_back_on_an_empty_engine_and_on_one_whose_containers_run(
    service: Service, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    """The backup is made while everything runs. The next question contains what the agent remembers."""
    archive, keys = service.folder / "backup.tar", service.folder / "keys.json"
    service.manage("backup", archive, "--with-keys", keys, "--with-memory")
    assert find_canary(archive.read_bytes()) is None
    assert "Something listens on" in service.manage("restore", archive, "--replace", fails=True)
    service.interrupt()
    before = service.containers()
    service.manage("restore", archive, "--replace")
    service.start()
    wait_until(lambda: status_of(service) == "running", within=GENEROUS, every=0.5)
    assert service.containers() == before  # it has run all the time, also where the gateway is on again
    [project] = [each["id"] for each in service.call("GET", "/api/projects", token=sign_in(service)).json]
    assert not has_virtual_credentials(service, project)

    service.interrupt()
    remove_from_engine(service.environment["BERTH_INSTANCE"])
    said = service.manage("restore", archive, "--replace", "--keys", keys, "--with-memory")
    assert "Without a container here: 1 agent that should run" in said
    service.start()
    wait_until(lambda: status_of(service) == "running", within=GENEROUS, every=0.5)
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Do you remember me?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Do you remember me?", timeout=GENEROUS)
    assert "Is the tide in?" in str(provider.asked()[-1])
    assert has_virtual_credentials(service, project)


def test_deleting_leaves_nothing_on_the_engine(service: Service) -> None:
    token = sign_in(service)  # a restore ends all sessions
    project = service.call("GET", "/api/projects", token=token).json[0]["id"]
    assert service.call("DELETE", f"/api/projects/{project}", token=token).status == 204
    chosen = {"label": [f"berth.instance={service.environment['BERTH_INSTANCE']}"]}
    assert service.engine.containers(all=True, filters=chosen) == []
    assert not service.engine.volumes(filters=chosen)["Volumes"]
    assert service.call("DELETE", f"/api/projects/{project}", token=token).status == 404


def test_no_credential_is_in_files_logs_or_inspection(service: Service) -> None:
    """Searches everything that the tests above have left: answers, the output of both runs, the data directory."""
    assert find_canary(service.database_bytes()) is None
    for log in Path(service.folder).glob("run-*.log"):
        assert find_canary(log.read_bytes()) is None
    assert find_canary("\n".join(service.said)) is None
    for file in Path(service.environment["BERTH_DATA_DIR"]).rglob("*"):
        if file.is_file():
            assert find_canary(file.read_bytes()) is None, file
