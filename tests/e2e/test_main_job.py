"""The README's first page: from an empty folder to an agent that answers, and back. With the gateway, as shipped."""

from pathlib import Path
from typing import Any

import pytest

from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
    find_canary,
)
from tests.containers.inside import run_inside
from tests.e2e.service import Service
from tests.e2e.settling import GENEROUS, carry_out, settle, sign_in, status_of
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.leftovers import remove_from_engine
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


ALICE = 1001


@pytest.fixture(scope="module")
def token(service: Service) -> str:
    return sign_in(service)


def test_a_user_deploys_an_agent_and_it_answers(
    service: Service, token: str, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    # Deploy.
    wanted = {
        "name": "Harbour pilot",
        "type": "assistant",
        "plan": "free",
        "telegramToken": CANARY_TELEGRAM_TOKEN,
        "apiKey": CANARY_API_KEY,
    }
    created = settle(service, token, service.call("POST", "/api/projects?wait=30", wanted, token))
    project = created["id"]
    assert created["status"] == "running"
    assert created["bot"]["url"] == "https://t.me/harbour_bot"
    assert [(row["id"], row["status"]) for row in service.call("GET", "/api/projects", token=token).json] == [
        (project, "running")
    ]

    # It answers.
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Is the tide in?")
    reply = telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Is the tide in?", timeout=GENEROUS)
    assert reply.chat_id == ALICE
    assert provider.asked()[-1].key == CANARY_API_KEY

    # Nothing on the engine gives a credential away, and the agent's container has none.
    [listed] = service.engine.containers(all=True, filters={"label": [f"berth.project={project}"]})
    name = listed["Id"]
    for container in (name, gateway_of(service)):
        assert find_canary(str(service.engine.inspect_container(container))) is None
        assert find_canary(service.engine.logs(container)) is None
    files = run_inside(service.engine, name, "cat", "/run/secrets/telegram_bot_token", "/run/secrets/agent_api_key")
    assert files[0] == 0
    assert files[1].count("bvk_") == 2
    assert find_canary(files[1]) is None

    # A new key is in use with the next message, by the same container.
    changed = service.call("PATCH", f"/api/projects/{project}", {"apiKey": CANARY_OTHER_API_KEY}, token)
    assert changed.status == 200, changed.text
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "With another key?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="With another key?", timeout=GENEROUS)
    assert provider.asked()[-1].key == CANARY_OTHER_API_KEY
    assert [each["Id"] for each in service.engine.containers(filters={"label": [f"berth.project={project}"]})] == [name]

    # Stop: no further polls arrive.
    stopped = service.call("POST", f"/api/projects/{project}/control", {"action": "stop"}, token)
    assert (stopped.status, stopped.json["status"]) == (200, "stopped")
    polls = telegram.polls(CANARY_TELEGRAM_TOKEN).count
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Anybody there?")
    assert telegram.polls(CANARY_TELEGRAM_TOKEN).count == polls
    assert telegram.pending(CANARY_TELEGRAM_TOKEN) == 1

    # Start: what was said meanwhile is answered.
    started = carry_out(service, token, project, "start")
    assert started["status"] == "running"
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Anybody there?", timeout=GENEROUS)

    # Restart: with what was changed.
    changed = service.call("PATCH", f"/api/projects/{project}", {"settings": {"model": "small-2"}}, token)
    assert changed.status == 200, changed.text
    restarted = carry_out(service, token, project, "restart")
    assert restarted["status"] == "running"
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "With the new model?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="With the new model?", timeout=GENEROUS)
    assert provider.asked()[-1].model == "small-2"

    # What it has used is counted.
    detail = wait_until(lambda: used(service, token, project), within=GENEROUS, every=0.5)
    assert detail["usage"]["today"]["tokens"] > 0


def gateway_of(service: Service) -> str:
    """The id of the gateway's container."""
    chosen = {"label": [f"berth.gateway={service.environment['BERTH_INSTANCE']}"]}
    [found] = service.engine.containers(filters=chosen)
    return str(found["Id"])


def used(service: Service, token: str, project: str) -> Any:
    """The project's detail, as soon as the watcher has read what the agent has used."""
    detail = service.call("GET", f"/api/projects/{project}", token=token).json
    return detail if detail["usage"]["today"]["requests"] >= 4 else None


def test_a_provider_that_refuses_the_key_at_deploy_time_is_a_400_on_the_field(service: Service, token: str) -> None:
    wanted = {
        "name": "No key",
        "plan": "starter",
        "telegramToken": CANARY_OTHER_TELEGRAM_TOKEN,
        "apiKey": "sk-unknown-to-the-provider",
    }
    answer = service.call("POST", "/api/projects", wanted, token)
    assert (answer.status, answer.json["errors"][0]["field"]) == (400, "apiKey")


def test_a_revoked_bot_token_is_a_crash_explained_in_plain_words(
    service: Service, token: str, telegram: FakeTelegram
) -> None:
    project = service.call("GET", "/api/projects", token=token).json[0]["id"]
    telegram.revoke(CANARY_TELEGRAM_TOKEN)
    try:
        restarted = carry_out(service, token, project, "restart")
        assert restarted["status"] == "crashed"
        assert restarted["status_reason"]["code"] == "telegram_token"
    finally:
        telegram.restore(CANARY_TELEGRAM_TOKEN)
    started = carry_out(service, token, project, "start")
    assert started["status"] == "running"


def test_agents_outlive_the_service_and_a_second_run_finds_them(
    service: Service, token: str, telegram: FakeTelegram
) -> None:
    service.interrupt()
    with pytest.raises(OSError, match="refused"):
        service.call("GET", "/healthz")
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Still there?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Still there?", timeout=GENEROUS)
    service.start()
    assert service.call("GET", "/api/projects", token=token).json[0]["status"] == "running"


def test_a_backup_comes_back_on_an_empty_engine_and_on_one_whose_containers_run(
    service: Service, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    """Made while everything runs. What the agent remembers is sent along with the next question."""
    archive, keys = service.folder / "backup.tar", service.folder / "keys.json"
    service.manage("backup", archive, "--with-keys", keys, "--with-memory")
    assert find_canary(archive.read_bytes()) is None
    assert "Something listens on" in service.manage("restore", archive, "--replace", fails=True)
    service.interrupt()
    before = service.containers()
    service.manage("restore", archive, "--replace")
    service.start()
    wait_until(lambda: status_of(service) == "running", within=GENEROUS, every=0.5)
    assert service.containers() == before  # it has run all the time

    service.interrupt()
    remove_from_engine(service.environment["BERTH_INSTANCE"])
    said = service.manage("restore", archive, "--replace", "--keys", keys, "--with-memory")
    assert "Without a container here: 1 agent that should run" in said
    service.start()
    wait_until(lambda: status_of(service) == "running", within=GENEROUS, every=0.5)
    telegram.say(CANARY_TELEGRAM_TOKEN, ALICE, "Do you remember me?")
    telegram.wait_for_message(CANARY_TELEGRAM_TOKEN, containing="Do you remember me?", timeout=GENEROUS)
    assert "Is the tide in?" in str(provider.asked()[-1])


def test_deleting_leaves_nothing_on_the_engine(service: Service) -> None:
    token = sign_in(service)  # a restore ends all sessions
    project = service.call("GET", "/api/projects", token=token).json[0]["id"]
    assert service.call("DELETE", f"/api/projects/{project}", token=token).status == 204
    chosen = {"label": [f"berth.instance={service.environment['BERTH_INSTANCE']}"]}
    assert service.engine.containers(all=True, filters=chosen) == []
    assert not service.engine.volumes(filters=chosen)["Volumes"]
    assert service.call("DELETE", f"/api/projects/{project}", token=token).status == 404


def test_no_credential_is_anywhere(service: Service) -> None:
    """Looks at all that the tests above have left: answers, the output of both runs, the data directory."""
    assert find_canary(service.database_bytes()) is None
    for log in Path(service.folder).glob("run-*.log"):
        assert find_canary(log.read_bytes()) is None
    assert find_canary("\n".join(service.said)) is None
    for file in Path(service.environment["BERTH_DATA_DIR"]).rglob("*"):
        if file.is_file():
            assert find_canary(file.read_bytes()) is None, file
