"""An agent that uses more than its plan gives. Meanwhile the service keeps answering."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from containers.vocabulary import ContainerState
from tests.factories import UserFactory
from tests.security.agents import MEGABYTE, Agents
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.django_db, pytest.mark.timeout(900)]
Answers = Callable[[], bool]


@pytest.fixture(autouse=True)
def _clean(agents: Agents) -> Iterator[None]:
    yield
    agents.remove_all()


@pytest.fixture
def service_answers(agents: Agents, client: Client, db: None) -> Iterator[Answers]:
    """Returns whether the service, on the same engine as the agent, answers and reaches its engine."""
    alice: User = UserFactory.create()
    headers = {"Authorization": f"Bearer {issue_session(alice)}"}

    def answers() -> bool:
        listed = client.get("/api/projects", headers=headers)
        return (listed.status_code, client.get("/readyz").status_code) == (200, 200)

    with agents.settings(), override_settings(BERTH_ENGINE_CLASS="containers.docker.engine.DockerEngine"):
        yield answers


def test_a_fork_bomb_ends_at_the_plan_s_process_limit(agents: Agents, service_answers: Answers) -> None:
    bomb = agents.deploy("forks").name
    assert service_answers()
    assert 0 < agents.found_by(bomb) < 128
    assert agents.observe(bomb).state is ContainerState.RUNNING
    assert agents.found_by(agents.deploy("forks", pids=400).name) == 300


def test_exceeding_the_plan_s_memory_ends_the_agent(agents: Agents, service_answers: Answers) -> None:
    greedy = agents.deploy("memory", nano_cpus=10**9).name
    # The engine starts it again, and it dies again.
    ended = wait_until(lambda: found if (found := agents.observe(greedy)).exit_code is not None else None, within=60)
    assert (ended.oom_killed, ended.exit_code) == (True, 137)
    assert service_answers()
    assert agents.found_by(agents.deploy("memory", memory=768 * MEGABYTE, nano_cpus=10**9).name) == 400


def test_tmp_is_full_after_64_megabytes(agents: Agents, service_answers: Answers) -> None:
    full = agents.found_by(agents.deploy("tmp").name)
    assert full == {"written": 64 * MEGABYTE, "said": "[Errno 28] No space left on device"}
    assert service_answers()
    assert agents.found_by(agents.run_unconfined("tmp")) == {"written": 100 * MEGABYTE, "said": ""}


def test_a_flood_of_log_lines_takes_thirty_megabytes_at_most(
    agents: Agents, service_answers: Answers, is_long: bool
) -> None:
    if not os.access(root_of(agents.client), os.R_OK):
        pytest.skip("the engine's directory cannot be looked into from here")
    megabytes = 1024 if is_long else 64
    flood = {"LOG_MEGABYTES": str(megabytes)}
    agent = agents.deploy("log", environment=flood, nano_cpus=2 * 10**9).name

    def has_ended() -> bool:
        assert log_bytes(agents.client, agent) <= 35 * MEGABYTE
        assert service_answers()
        return str(agents.client.logs(agent, tail=2)).count("FOUND") == 1

    wait_until(has_ended, within=600, every=0.1)
    assert log_bytes(agents.client, agent) <= 35 * MEGABYTE
    if not is_long:
        # Docker's own default keeps all of it.
        anybody = agents.run_unconfined("log", environment=flood, log_config={"Type": "json-file", "Config": {}})
        wait_until(lambda: log_bytes(agents.client, anybody) > 60 * MEGABYTE, within=60)


def root_of(client: Any) -> Path:
    return Path(client.info()["DockerRootDir"]) / "containers"


def log_bytes(client: Any, name: str) -> int:
    """Returns the size of the container's output on the engine's disk."""
    folder = root_of(client) / client.inspect_container(name)["Id"]
    files = [*folder.glob("local-logs/*"), *folder.glob("*-json.log*")]
    return sum(file.stat().st_blocks * 512 for file in files if file.exists())
