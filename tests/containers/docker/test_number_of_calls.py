"""How many engine calls each verb makes. Each costs every deploy milliseconds, and more on a busy engine."""

import pytest

from containers.errors import SupersededError
from tests.containers.docker.handing_over import USER
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.engine_calls import calls  # noqa: F401 - a fixture

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.django_db]

LOOK = ["GET containers json"]
INSPECTION = ["GET containers json"]

VOLUMES = ["GET volumes"]
"""The volumes with the agent's labels."""

MISSING = ["GET volumes", "GET volumes"]
"""The volumes that are not among them, each by its name."""

MAKE = ["POST containers create", "GET containers archive", "PUT containers archive", "POST containers start"]
"""Who owns the directory of the state; the credentials."""


def in_order(made: list[str]) -> list[str]:
    """Skips the calls of a parallel thread about the networks: one asks whether the engine has restarted, which removes
    the rules; there are more if someone has changed them."""
    assert "GET networks bridge" in made
    return [call for call in made if "networks" not in call]


def test_a_deploy(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    deploy(docker_under_test)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    calls.clear()  # the first one of a process creates the network, and learns what new volumes of the image are like
    deploy(docker_under_test)
    create, _, *rest = MAKE
    assert in_order(calls) == [*LOOK, *VOLUMES, *MISSING, create, *rest, *INSPECTION]


def test_the_calls_of_a_deploy_with_a_known_image(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    """The situation just after someone has asked for the image."""
    for generation in (1, 2):
        docker_under_test.engine.remove(docker_under_test.key, volumes=True)
        assert docker_under_test.engine.image_exists(docker_under_test.image)
        calls.clear()
        deploy(docker_under_test, user=USER, generation=generation)
    create, _, *rest = MAKE
    assert in_order(calls) == [*LOOK, *VOLUMES, *MISSING, create, *rest, *INSPECTION]
    assert docker_under_test.run("sh", "-c", "echo fine > /data/x")[0] == 0


def test_the_first_deploy_of_a_new_key(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    """Nothing of it can exist. The owner of its directory may be known from the image."""
    deploy(docker_under_test)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    calls.clear()  # the first one of a process creates the network
    deploy(docker_under_test, is_first=True)
    create, look, *rest = MAKE
    assert [call for call in in_order(calls) if call != look] == [create, *rest, *INSPECTION]


def test_a_late_first_deploy_touches_nothing(docker_under_test: DockerUnderTest) -> None:
    """A stop, and a start after it, were faster than the request that created the project."""
    newer = deploy(docker_under_test, generation=2)
    docker_under_test.run("touch", "/data/kept")
    with pytest.raises(SupersededError):
        deploy(docker_under_test, is_first=True)
    assert (kept := docker_under_test.engine.inspect(docker_under_test.key))
    assert (kept.container_id, kept.is_up) == (newer.container_id, True)
    assert docker_under_test.run("ls", "/data") == (0, "kept\n")


def test_the_calls_of_a_deploy_whose_image_owns_its_directory(
    docker_under_test: DockerUnderTest,
    closed_image: str,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    """A new volume belongs to the image's user: one call gives it away."""
    deploy(docker_under_test, user=USER, image=closed_image)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    calls.clear()  # the first one of a process creates the network, and checks whether the engine has
    deploy(docker_under_test, user=USER, image=closed_image)
    create, _, *rest = MAKE
    assert in_order(calls) == [*LOOK, *VOLUMES, *MISSING, create, rest[0], *rest, *INSPECTION]
    assert docker_under_test.run("stat", "-c", "%u %g %a", "/data") == (0, f"{USER} {USER} 700\n")


def test_an_empty_volume_keeps_its_owner(
    docker_under_test: DockerUnderTest,
    closed_image: str,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    """The engine would give it back to the image's user each time that a container is created."""
    deploy(docker_under_test, user=USER, image=closed_image)
    docker_under_test.vanish(docker_under_test.name)
    calls.clear()
    deploy(docker_under_test, generation=2, user=USER, image=closed_image)
    assert in_order(calls) == [*LOOK, *VOLUMES, "DELETE volumes", *MAKE, *INSPECTION]
    assert docker_under_test.run("sh", "-c", "echo fine > /data/x")[0] == 0


def test_a_deploy_in_place_of_a_container_that_vanished(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    """The owner of the state need not be read, because the agent has run with it. Only its existence is checked."""
    deploy(docker_under_test, user=USER)
    docker_under_test.vanish(docker_under_test.name)
    calls.clear()
    deploy(docker_under_test, generation=2, user=USER, has_state=True)
    made = in_order(calls)
    create, _, *rest = MAKE
    assert made.count("GET volumes") == len(VOLUMES) + 1
    others = [call for call in made if call != "GET volumes"]
    assert others == [*LOOK, "DELETE volumes", create, *rest, *INSPECTION]
    assert docker_under_test.run("sh", "-c", "echo fine > /data/x")[0] == 0


def test_another_generation(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    deploy(docker_under_test)
    docker_under_test.engine.stop(docker_under_test.key, timeout=5)
    calls.clear()
    deploy(docker_under_test, generation=2)
    away = ["GET images json", "DELETE containers"]
    of_before = ["DELETE volumes"]
    expected = [*LOOK, *INSPECTION, *away, *VOLUMES, *of_before, *MAKE, *INSPECTION]
    assert in_order(calls) == expected


def test_the_same_again(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    deploy(docker_under_test)
    calls.clear()
    deploy(docker_under_test)
    assert in_order(calls) == [*LOOK, *INSPECTION, *INSPECTION]


def test_a_stop(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    deploy(docker_under_test)
    calls.clear()
    docker_under_test.engine.stop(docker_under_test.key, timeout=5)
    assert calls == [*LOOK, "POST containers stop", *INSPECTION]


def test_a_deletion(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    deploy(docker_under_test)
    calls.clear()
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    assert calls.count("DELETE containers") == 1
    assert calls.count("DELETE volumes") == 2
    assert len(calls) <= 10


def test_a_list_of_agents_that_are_well(
    docker_under_test: DockerUnderTest,
    calls: list[str],  # noqa: F811 - the fixture
) -> None:
    docker_under_test.deploy_healthy()
    calls.clear()
    (seen,) = docker_under_test.engine.observe({})
    assert seen.health == "healthy"
    assert calls == LOOK
