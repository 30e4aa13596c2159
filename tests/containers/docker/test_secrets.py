"""Credentials reach the agent as files, and nobody else. Only a real Docker can show this."""

import json

import pytest

from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

pytestmark = pytest.mark.docker


CANARY = "canary-5f0c2d"


def test_secrets_are_files_that_only_the_agent_can_read(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, secrets={"telegram_bot_token": CANARY})
    assert docker_under_test.run("stat", "-c", "%a %u %g", "/run/secrets/telegram_bot_token")[1].split() == [
        "440", "0", "10001",
    ]  # fmt: skip
    assert docker_under_test.run("stat", "-c", "%a %u %g", "/run/secrets")[1].split() == ["755", "0", "0"]
    assert docker_under_test.run("cat", "/run/secrets/telegram_bot_token") == (0, CANARY)


@pytest.mark.parametrize(
    "attempt",
    [
        "touch /run/secrets/more",
        "echo x >> /run/secrets/telegram_bot_token",
        "busybox rm -f /run/secrets/telegram_bot_token",
        "busybox mv /run/secrets/telegram_bot_token /run/secrets/other",
        "busybox ln -s /data /run/secrets/link",
        "busybox chmod 600 /run/secrets/telegram_bot_token",
        "busybox chmod 700 /run/secrets",
    ],
)
def test_an_agent_cannot_change_its_secrets(docker_under_test: DockerUnderTest, attempt: str) -> None:
    deploy(docker_under_test, secrets={"telegram_bot_token": CANARY})
    code, said = docker_under_test.run("sh", "-c", attempt)
    assert code != 0
    assert "ermission denied" in said or "not permitted" in said
    assert docker_under_test.run("ls", "/run/secrets") == (0, "telegram_bot_token\n")
    assert docker_under_test.run("cat", "/run/secrets/telegram_bot_token") == (0, CANARY)


def test_secrets_are_nowhere_in_docker_s_answers(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, secrets={"telegram_bot_token": CANARY})
    client = docker_under_test.client
    told = [
        client.inspect_container(docker_under_test.name),
        client.containers(all=True),
        [client.inspect_volume(volume) for volume in docker_under_test.volumes(docker_under_test.name)],
        [line.decode() for line in docker_under_test.engine.logs(docker_under_test.key)],
    ]
    assert CANARY not in json.dumps(told)


def test_secrets_survive_a_restart_and_state_survives_a_replacement(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    assert docker_under_test.run("sh", "-c", "echo memory > /data/note")[0] == 0
    docker_under_test.engine.stop(docker_under_test.key, timeout=5)
    deploy(docker_under_test)
    assert docker_under_test.run("cat", "/run/secrets/agent_api_key") == (0, "sk-1")
    deploy(docker_under_test, generation=2, secrets={"agent_api_key": "sk-2"})
    assert docker_under_test.run("cat", "/data/note") == (0, "memory\n")
    assert docker_under_test.run("ls", "/run/secrets") == (0, "agent_api_key\n")
