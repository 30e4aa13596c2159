"""Many requests at once, to two real servers and a Docker engine."""

import random

import pytest

from tests.chaos.consistency import await_consistency
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.races.racing import COMMANDS, assert_one_at_a_time, at_once
from tests.chaos.server import Server, Site
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
    pytest.mark.either_database,
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("--chaos", "short") == "long"
    if "threads" in metafunc.fixturenames:
        metafunc.parametrize(("threads", "rounds"), [(50, 20) if every else (8, 5)])


@pytest.mark.rare(2)
def test_several_servers_and_a_real_engine_keep_to_one_operation_at_a_time(
    threads: int, rounds: int, site: Site, docker_instance: DockerInstance
) -> None:
    servers: list[Server] = [site.serve() for _ in range(2)]
    chance = random.Random(4)
    for _ in range(rounds if threads > 8 else 2):
        project = servers[0].create().json["id"]
        wishes = [chance.choice(COMMANDS) for _ in range(threads)]
        answers = at_once(
            threads,
            lambda index: servers[index % 2].control(project, wishes[index]),  # noqa: B023 - all are answered within the round
        )
        for wish, answer in zip(wishes, answers, strict=True):
            assert answer.status in ({200, 202} if wish == "stop" else {200, 409, 429}), (wish, answer)
        servers[0].reconcile()  # it finishes the stops that were answered 202
        await_consistency(servers[0], docker_instance)
        answers = at_once(threads, lambda _: servers[0].delete(project))  # noqa: B023 - all are answered within the round
        assert {answer.status for answer in answers} <= {202, 204, 404}
        assert docker_instance.containers() == {}
    assert_one_at_a_time(site.history())


@pytest.mark.rare(1)
def test_several_servers_create_one_container_for_one_key(
    is_long: bool, site: Site, docker_instance: DockerInstance
) -> None:
    servers = site.servers or [site.serve() for _ in range(2)]

    def create(index: int) -> str:
        def created() -> str | None:
            answer = servers[index % len(servers)].create(Idempotency_Key="same")
            # 503: the engine is too busy. The same key may be sent again.
            assert answer.status in {201, 409, 503}, answer
            return str(answer.json["id"]) if answer.status == 201 else None

        return wait_until(created, every=0.1)

    assert len(set(at_once(100 if is_long else 20, create))) == 1
    assert len(docker_instance.containers()) == 1
    await_consistency(servers[0], docker_instance)
