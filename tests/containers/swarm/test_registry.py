"""Images from a real registry, which the nodes of a real Swarm pull before any agent needs them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.errors import ImageNotPulledError
from containers.swarm.images.images import require_pulled
from containers.swarm.nodes.nodes import list_nodes
from containers.vocabulary import ContainerState
from tests.containers.engine_fixtures import deploy
from tests.containers.rootfs import make_images
from tests.containers.swarm.one_node import NAME, Swarm, some_nodes
from tests.containers.swarm.registry import ADDRESS, PASSWORD, registry, write_login

pytestmark = [pytest.mark.docker, pytest.mark.rare(12)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="module")
def swarm(home: Path) -> Iterator[Swarm]:
    """Two nodes. Only the manager has the images."""
    with some_nodes(2, heartbeat=1.0, shared=False) as made, registry(made.cluster, home):
        patch = pytest.MonkeyPatch()
        patch.setenv("DOCKER_CONFIG", str(home / "login"))
        write_login(home / "login")
        with made.settings(patch), override_settings(BERTH_REGISTRY=ADDRESS, BERTH_ENGINE="swarm"):
            yield made
        patch.undo()


def test_nodes_pull_pushed_images_beforehand_and_nobody_reads_the_password(
    swarm: Swarm, home: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    under_test, client = swarm.under_test(), swarm.cluster.manager.client
    image = swarm.images[0]
    swarm.cluster.set_availability(swarm.cluster.manager, "drain")
    write_login(home / "login", "wrong")
    with pytest.raises(CommandError, match="did not take"):
        call_command("push_images", image)
    write_login(home / "login")
    call_command("push_images", image)
    told = capsys.readouterr().out
    assert "on 1 of 1 nodes" in told
    made = deploy(under_test)
    assert (made.state, made.node) == (ContainerState.RUNNING, swarm.cluster.nodes[1].node_id)
    # Nobody has given the other node this image but the registry.
    assert any(digest.startswith(f"{ADDRESS}/") for digest in _digests(swarm, image))
    said = json.dumps([client.services(), client.tasks(), client.containers(all=True)])
    assert client.inspect_service(under_test.name)["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] in told
    for text in (said, told, caplog.text, (home / "log").read_text()):
        assert PASSWORD not in text


def _digests(swarm: Swarm, image: str) -> list[str]:
    image_id = swarm.cluster.manager.client.inspect_image(image)["Id"]
    return list(swarm.cluster.nodes[1].client.inspect_image(image_id)["RepoDigests"])


def test_a_deploy_of_an_image_that_no_node_has_is_refused_and_creates_nothing(swarm: Swarm) -> None:
    """Although it is in the registry: a node would pull it, but slowly."""
    under_test, client = swarm.under_test(), swarm.cluster.manager.client
    under_test.image = make_images(client, f"{NAME}-other")[1]
    with override_settings(BERTH_ENGINE="docker"):
        call_command("push_images", under_test.image)
    with pytest.raises(ImageNotPulledError, match="No node was told to pull it"):
        deploy(under_test)
    assert under_test.id_of(under_test.name) is None
    call_command("push_images", under_test.image)
    assert deploy(under_test).state is ContainerState.RUNNING


def test_a_node_that_joins_later_gets_no_agent_before_it_has_pulled(swarm: Swarm) -> None:
    """A job of a Swarm runs on the nodes that exist when it is created."""
    client = swarm.cluster.manager.client
    call_command("push_images", swarm.images[0])
    [digest] = [each for each in client.inspect_image(swarm.images[0])["RepoDigests"] if each.startswith(ADDRESS)]
    joined = swarm.cluster.add()
    there, elsewhere = require_pulled(Connection(), digest, list_nodes(Connection()))
    assert joined.node_id not in {node.node_id for node in there}
    assert f"node.id != {joined.node_id}" in elsewhere
    call_command("push_images", swarm.images[0])
    there, elsewhere = require_pulled(Connection(), digest, list_nodes(Connection()))
    assert joined.node_id in {node.node_id for node in there}
    assert joined.client.inspect_image(digest)["Id"] == client.inspect_image(swarm.images[0])["Id"]
