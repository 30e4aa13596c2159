"""An image whose name another one gets between the look into it and the creation of a container from it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import docker
import pytest

from containers.errors import ImageMissingError, ImageUnusableError
from containers.identity import own_labels
from containers.vocabulary import PROJECT_LABEL
from tests.busybox import pack_root
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.fakes.states import pack_state, unpack_state

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.django_db]

ROOT = pack_root({"agent": "#!/bin/sh\nexec sleep 1000\n"}, applets=("sh", "sleep", "find", "chmod", "chown"))
COMMANDS = ('CMD ["/agent"]', "ENV PATH=/bin")
CLOSED = 'VOLUME ["/etc"]'
"""With this, no agent can have the image."""

KEPT = {"memory": "what it knows"}
Rebuild = Callable[..., str]


@pytest.fixture
def image(image_with: Any) -> str:
    return str(image_with(ROOT, *COMMANDS))


@pytest.fixture
def rebuild(docker_under_test: DockerUnderTest, image: str) -> Iterator[Rebuild]:
    """Gives the name to another image, with these commands, and returns the id of that one."""
    client, former = docker_under_test.client, docker_under_test.client.inspect_image(image)["Id"]
    repository, _, tag = image.partition(":")

    def build(*commands: str, forgets: bool = False) -> str:
        client.import_image_from_data(ROOT, repository=repository, tag=tag, changes=[*COMMANDS, *commands])
        if forgets:
            client.remove_image(former)
        return str(client.inspect_image(image)["Id"])

    yield build
    docker_under_test.clean_up()
    with suppress(docker.errors.ImageNotFound):
        client.remove_image(former, force=True)


def image_of(under_test: DockerUnderTest) -> str:
    return str(under_test.client.inspect_container(under_test.name)["Image"])


def test_an_agent_gets_the_image_that_was_looked_into(
    docker_under_test: DockerUnderTest, image: str, rebuild: Rebuild
) -> None:
    former = docker_under_test.client.inspect_image(image)["Id"]
    assert docker_under_test.engine.image_exists(image)
    rebuild(CLOSED)
    assert deploy(docker_under_test, image=image).image_id == former
    with pytest.raises(ImageUnusableError):  # the next one looks again before the old container goes
        deploy(docker_under_test, image=image, generation=2)
    assert image_of(docker_under_test) == former


def test_an_image_that_is_gone_by_now_is_looked_for_by_its_name(
    docker_under_test: DockerUnderTest, image: str, rebuild: Rebuild
) -> None:
    assert docker_under_test.engine.image_exists(image)
    newer = rebuild("ENV NEWER=yes", forgets=True)
    assert deploy(docker_under_test, image=image).image_id == newer


@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_left_of_an_agent_that_cannot_have_the_next_image(
    docker_under_test: DockerUnderTest, image: str, rebuild: Rebuild, *, is_there: bool
) -> None:
    assert docker_under_test.engine.image_exists(image)
    rebuild(CLOSED, forgets=True)
    if not is_there:
        docker_under_test.client.remove_image(image)
    with pytest.raises(ImageUnusableError if is_there else ImageMissingError):
        deploy(docker_under_test, image=image)
    assert docker_under_test.engine.inspect(docker_under_test.key) is None
    assert docker_under_test.volumes(docker_under_test.name) == set()
    if not is_there:
        docker_under_test.client.import_image_from_data(ROOT, *image.split(":"))  # for the fixture to remove


def test_a_memory_is_copied_through_the_image_that_was_looked_into(
    docker_under_test: DockerUnderTest, image: str, rebuild: Rebuild
) -> None:
    """Putting the copy back looks again first, because it removes the memory before."""
    engine, key = docker_under_test.engine, docker_under_test.key
    labels = {**own_labels(), PROJECT_LABEL: key}
    state = f"{docker_under_test.name}-data"
    engine.write_state(key, volume=state, labels=labels, image=image, pieces=[pack_state(KEPT)])
    rebuild(CLOSED)
    engine.keep_copy(key, image=image, labels=labels)
    with pytest.raises(ImageUnusableError):
        engine.return_copy(key, image=image)
    for of_copy in (True, False):
        pieces = engine.read_state(key, image=docker_under_test.image, of_copy=of_copy)
        assert unpack_state(pieces) == KEPT
    assert engine.return_copy(key, image=docker_under_test.image)
    assert unpack_state(engine.read_state(key, image=docker_under_test.image)) == KEPT
