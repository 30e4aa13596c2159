"""A process stops a container that it has started itself with two calls: the stop, and a look at the result."""

from dataclasses import replace

import pytest

from containers.docker import known_containers
from containers.docker.engine import DockerEngine
from containers.docker.known_containers import KnownContainers
from containers.identity import own_labels
from containers.vocabulary import PROJECT_LABEL, ContainerState, Health, Observation
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.engine_calls import calls  # noqa: F401 - a fixture

BY_HAND = ("nothing", "paused", "killed", "removed", "renamed", "replaced")
"""What someone has done to the container since."""

SEEN = Observation(
    name="x",
    container_id="a" * 64,
    labels={**own_labels(), PROJECT_LABEL: "key"},
    state=ContainerState.RUNNING,
    health=Health.NONE,
)


def stop(under_test: DockerUnderTest, made: Observation) -> Observation | None:
    prefetch = under_test.engine.prefetch(under_test.key, made.container_id)
    return under_test.engine.stop(under_test.key, timeout=2, prefetch=prefetch)


@pytest.mark.docker
@pytest.mark.one_database
@pytest.mark.django_db
def test_a_stop_of_a_known_container_takes_two_calls(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    made = deploy(docker_under_test)
    calls.clear()
    seen = stop(docker_under_test, made)
    assert calls == ["POST containers stop", "GET containers json"]
    assert seen is not None
    assert (seen.container_id, seen.state, seen.finished_at is None) == (made.container_id, "exited", False)


@pytest.mark.docker
@pytest.mark.one_database
@pytest.mark.django_db
@pytest.mark.parametrize("event", BY_HAND)
def test_a_known_container_is_down_after_the_stop(docker_under_test: DockerUnderTest, event: str) -> None:
    made, name = deploy(docker_under_test), docker_under_test.name
    if event == "paused":
        docker_under_test.pause(name)
    if event == "killed":
        docker_under_test.kill(name)
    if event == "renamed":
        docker_under_test.rename(name, f"{name}-renamed")
    if event in {"removed", "replaced"}:
        docker_under_test.vanish(name)
    if event == "replaced":
        other = DockerEngine()
        deploy(replace_engine(docker_under_test, other), generation=2)
    stop(docker_under_test, made)
    found = docker_under_test.engine.inspect(docker_under_test.key)
    assert (found is None) == (event == "removed")
    assert not (found and found.is_up)


def replace_engine(under_test: DockerUnderTest, engine: DockerEngine) -> DockerUnderTest:
    """The same agent in another process."""
    other = DockerUnderTest(engine, under_test.client, (under_test.image, under_test.probed_image))
    other.key, other.name = under_test.key, under_test.name
    return other


@pytest.mark.parametrize(
    "seen",
    [
        replace(SEEN, labels={**SEEN.labels, **dict.fromkeys(own_labels(), "another's")}),
        *(replace(SEEN, state=state) for state in ContainerState if state is not ContainerState.RUNNING),
    ],
    ids=lambda seen: f"{seen.state} {seen.labels.get(PROJECT_LABEL)}",
)
def test_only_running_containers_of_ours_become_known(seen: Observation) -> None:
    known = KnownContainers()
    assert known.note(seen) is seen
    assert known.find(seen.key, seen.container_id) is None


def test_a_container_is_known_by_its_id_and_key_until_too_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_containers, "MOST", 2)
    known = KnownContainers()
    known.note(SEEN)
    prefetch = known.find("key", SEEN.container_id)
    assert prefetch is not None
    assert prefetch() == [SEEN]
    assert known.find("another key", SEEN.container_id) is known.find("key", "") is None
    for letter in "bc":
        known.note(replace(SEEN, container_id=letter * 64))
    assert known.find("key", SEEN.container_id) is None
    assert known.find("key", "c" * 64) is not None
