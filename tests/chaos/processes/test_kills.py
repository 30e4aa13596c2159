"""kill -9 at every named point, and at random ones: after one round nothing is lost, duplicated, stuck or wrong."""

import random
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.consistency import await_consistency
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server, Site
from tests.chaos.stub import STUB_PROJECT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(7200)]

_CREATE = ["before create_container_from_config", "after create_container_from_config"]
_FILL, _START = ["before put_archive", "after put_archive"], ["before start", "after start"]
_STOP, _REMOVE = ["before stop", "after stop"], ["before remove_container", "after remove_container"]
_EMPTY = ["before remove_volume secrets", "after remove_volume secrets"]
_CLAIM, _RECORD = ["before claim", "after claim"], ["before record", "after record"]
POINTS = {
    "deploy": ["before insert row", "after insert row", *_CREATE, *_FILL, *_START, *_RECORD],
    "start": [*_CLAIM, *_REMOVE, *_CREATE, *_START, *_RECORD],
    "start with another key": [*_CLAIM, *_REMOVE, *_EMPTY, *_CREATE, *_FILL, *_START, *_RECORD],
    "restart": [*_CLAIM, *_STOP, *_REMOVE, *_CREATE, *_START, *_RECORD],
    "stop": [*_CLAIM, "before stop", "after stop", *_RECORD],
    "delete": [
        *_CLAIM, *_STOP, *_REMOVE, *_EMPTY, "before remove_volume data", "after remove_volume data",
        "before delete row", "after delete row",
    ],
}  # fmt: skip
EVERY_POINT = [(verb, point) for verb, points in POINTS.items() for point in points]

SHORT = {
    ("deploy", "after insert row"), ("deploy", "after create_container_from_config"), ("deploy", "after start"),
    ("start", "after create_container_from_config"), ("start with another key", "before put_archive"),
    ("restart", "after claim"), ("restart", "after stop"), ("restart", "after remove_container"),
    ("restart", "before record"), ("stop", "after claim"),
    ("stop", "after stop"), ("delete", "after remove_container"), ("delete", "after remove_volume secrets"),
    ("delete", "after delete row"),
}  # fmt: skip


@pytest.fixture(scope="module")
def keys() -> dict[str, str]:
    """The provider's keys of projects that have got another one, in the site that the tests share."""
    return {}


def command(server: Server, verb: str, keys: dict[str, str]) -> Callable[[], object]:
    """Returns the command, after preparing what it needs. Notes the provider's key of a project that gets another."""
    if verb == "deploy":
        key = secrets.token_hex(8)
        return lambda: server.create(Idempotency_Key=key)
    running = [row["id"] for row in server.call("GET", "/chaos/rows").json["rows"] if row["desired"] == "running"]
    project = running[0] if running else server.create().json["id"]
    if verb == "delete":
        return lambda: server.delete(project)
    if verb.startswith("start"):
        assert server.control(project, "stop").status == 200
    if verb == "start with another key":
        keys[project] = f"sk-{secrets.token_hex(8)}"
        assert server.call("PATCH", f"/api/projects/{project}", {"apiKey": keys[project]}).status == 200
    return lambda: server.control(project, verb.partition(" ")[0])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("--chaos", "short") == "long"
    if "verb" in metafunc.fixturenames:
        metafunc.parametrize(("verb", "point"), EVERY_POINT if every else sorted(SHORT))
    if "kills" in metafunc.fixturenames:
        metafunc.parametrize("kills", [5 * metafunc.config.getoption("--repeats") if every else 2], ids=str)
    if "repeats" in metafunc.fixturenames:
        metafunc.parametrize("repeats", [metafunc.config.getoption("--repeats") if every else 1], ids=str)


def test_a_round_repairs_everything_after_a_kill_at_any_point(
    verb: str,
    point: str,
    repeats: int,
    site: Site,
    server: Server,
    docker_instance: DockerInstance,
    keys: dict[str, str],
) -> None:
    for _ in range(repeats):
        send = command(server, verb, keys)
        site.trigger(point)
        send()
        assert site.is_triggered, f"{verb} did not come by {point}"
        server.wait_until_ready()
        server.reconcile(later=True)
        await_consistency(server, docker_instance)
        found = docker_instance.api_keys()
        assert found == {project: keys.get(project, STUB_PROJECT["apiKey"]) for project in found}


@pytest.mark.parametrize(("point", "meanwhile"), [("after create_container_from_config", 409), ("after record", 201)])
@pytest.mark.parametrize("first", ["the retry", "a round"])
def test_a_retried_creation_after_a_kill_creates_one_container(
    point: str, meanwhile: int, first: str, site: Site, server: Server, docker_instance: DockerInstance
) -> None:
    before, key = len(docker_instance.containers()), secrets.token_hex(8)
    site.trigger(point)
    assert server.create(Idempotency_Key=key).status == 0
    server.wait_until_ready()
    # 409 as well if a busy engine failed the creation, so that the process died while it was undone.
    assert server.create(Idempotency_Key=key).status in {meanwhile, 409}
    if first == "a round":
        server.reconcile(later=True)
    else:
        server.forget_claims()
    answers = [server.create(Idempotency_Key=key) for _ in range(3)]
    assert [answer.status for answer in answers] == [201] * 3
    assert len({answer.json["id"] for answer in answers}) == 1
    server.reconcile(later=True)
    assert len(docker_instance.containers()) == before + 1
    await_consistency(server, docker_instance)


@pytest.mark.parametrize("point", ["after create_container_from_config", "after remove_container"])
def test_a_deploy_that_lost_to_a_deletion_and_is_killed_leaves_no_volume(
    point: str, site: Site, server: Server, docker_instance: DockerInstance
) -> None:
    """The row is gone, and then the container: only the volumes show that there was something."""
    with site.holding("before create_container_from_config") as wait:
        deploy = threading.Thread(target=server.create)
        deploy.start()
        wait()
        [made] = [each for each in server.call("GET", "/api/projects").json if each["status"] == "deploying"]
        assert server.delete(made["id"]).status == 204
        site.trigger(point)
    deploy.join()
    assert site.is_triggered
    server.wait_until_ready()
    server.reconcile(later=True)
    await_consistency(server, docker_instance)


@pytest.mark.rare(3)
def test_a_round_repairs_everything_after_a_kill_at_a_random_moment(
    kills: int, server: Server, docker_instance: DockerInstance
) -> None:
    chance = random.Random(20)
    for _ in range(kills):
        over, strange = threading.Event(), list[Any]()
        threads = [
            threading.Thread(target=busy, args=(server, random.Random(chance.random()), over, strange))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.3, 2.0))
        server.kill()
        over.set()
        for thread in threads:
            thread.join()
        assert strange == []
        server.start_again()
        server.reconcile(later=True)
        await_consistency(server, docker_instance)


def busy(server: Server, chance: random.Random, over: threading.Event, strange: list[Any]) -> None:
    """A client that sends random commands about all existing projects."""
    while not over.is_set():
        listed = server.call("GET", "/api/projects").json or []
        verb = chance.choice(["start", "stop", "restart", "delete", "create"])
        if verb == "create" or not listed:
            if len(listed) < 5:
                server.create()
            continue
        project = chance.choice(listed)["id"]
        answer = server.delete(project) if verb == "delete" else server.control(project, verb)
        if answer.status not in {0, 200, 202, 204, 404, 409}:
            strange.append((verb, answer.status, answer.json))
