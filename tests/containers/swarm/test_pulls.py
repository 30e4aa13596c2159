"""Which nodes are known to have an image, according to the tasks of its pull job."""

from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.docker_api.registry import name_in_registry
from containers.errors import ImageNotPulledError
from containers.swarm.images.images import name_for_nodes, require_pulled
from containers.swarm.images.pulls import TRIES, Pulled, job_name, runs_by_node
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_capacity import node
from tests.fakes.messages import Answer

DIGEST = "r:5/berth/assistant@sha256:" + "a" * 64


def task(on: str, state: str, *, container: str = "", error: str = "", number: int = 0) -> dict[str, Any]:
    made = f"2026-01-01T00:00:{number:02}Z"
    status = {"State": state, "Err": error, "Timestamp": made, "ContainerStatus": {"ContainerID": container}}
    return {"ID": f"{on}{number}", "NodeID": on, "Status": status, "DesiredState": "complete", "CreatedAt": made}


REFUSED = [task("n1", "rejected", error="denied", number=number) for number in range(TRIES)]


@pytest.mark.parametrize(
    ("tasks", "has", "given_up", "failure"),
    [
        ([], False, False, ""),
        ([task("n1", "preparing")], False, False, ""),
        ([task("n1", "complete", container="c")], True, False, ""),
        ([task("n1", "failed", container="c", error="exec: no /bin/true")], True, False, ""),
        (REFUSED[:1], False, False, "denied"),
        (REFUSED, False, True, "denied"),
        ([*REFUSED, task("n1", "preparing", number=9)], False, False, "denied"),
        ([*REFUSED[:1], task("n1", "complete", container="c", number=9)], True, False, ""),
        ([task("n2", "complete", container="c")], False, False, ""),
    ],
)
def test_a_node_that_created_a_container_has_its_image(
    tasks: list[Any], has: bool, given_up: bool, failure: str
) -> None:
    pulled = Pulled(runs_by_node(tasks))
    assert (pulled.has("n1"), pulled.is_given_up("n1"), pulled.failure("n1")) == (has, given_up, failure)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("berth/assistant:latest", ("r:5/berth/assistant", "latest")),
        ("assistant", ("r:5/assistant", "latest")),
        ("r:5/team/x:7", ("r:5/team/x", "7")),
        ("other.example:80/x:7", ("r:5/other.example:80/x", "7")),
    ],
)
def test_an_image_keeps_its_name_in_the_registry(image: str, name: tuple[str, str]) -> None:
    assert name_in_registry(image, "r:5") == name


def _has(fake: Manager, *tasks: dict[str, Any]) -> None:
    fake.bodies[f"/services/{job_name(DIGEST)}"] = Answer.json(200, {"ID": "job"})
    fake.rows["tasks"] = list(tasks)


def test_an_agent_is_not_placed_on_nodes_that_have_not_pulled_its_image(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node(1), node(2), node(3, availability="drain")]
    with manager(monkeypatch) as fake:
        fake.bodies[f"/services/{job_name(DIGEST)}"] = Answer.json(404, {"message": "no such service"})
        with pytest.raises(ImageNotPulledError, match="build_images --push"):
            require_pulled(Connection(), DIGEST, nodes)
        _has(fake, task("n2", "complete", container="c"), task("n3", "complete", container="c"))
        assert require_pulled(Connection(), DIGEST, nodes) == ([nodes[1], nodes[2]], ["node.id != n1"])
        _has(fake, task("n1", "rejected", error="pull access denied"), task("n3", "complete", container="c"))
        with pytest.raises(ImageNotPulledError, match="A node says: pull access denied"):
            require_pulled(Connection(), DIGEST, nodes)
        _has(fake, task("n1", "preparing"))
        with pytest.raises(ImageNotPulledError, match="in a minute"):
            require_pulled(Connection(), DIGEST, nodes)
        assert require_pulled(Connection(), "sha256:abc", nodes) == (nodes, [])


@override_settings(BERTH_REGISTRY="r:5")
def test_nodes_identify_an_image_by_digest_if_the_registry_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with manager(monkeypatch) as fake:
        other = "r:5/a@sha256:" + "b" * 64
        for digests, name in (
            ([other, DIGEST], DIGEST),
            ([other], other),
            (["elsewhere/x@sha256:1"], "sha256:i"),
            (None, "sha256:i"),
        ):
            fake.bodies["/images/berth/assistant:latest/json"] = Answer.json(
                200, {"Id": "sha256:i", "RepoDigests": digests}
            )
            assert name_for_nodes(Connection(), "berth/assistant:latest") == (name, "sha256:i")
