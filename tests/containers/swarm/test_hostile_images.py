"""Images that declare volumes and ports, or have no directory for the memory, on a real Swarm of one node."""

import tarfile
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from containers.errors import ImageUnusableError
from tests.busybox import pack_root
from tests.containers.engine_fixtures import deploy, make_spec, yes
from tests.containers.inside import run_inside
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.projects.hostile_images.conftest import APPLETS, WAITS, with_entry
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.rare(4)]


@pytest.fixture
def image_with(swarm_under_test: SwarmUnderTest) -> Iterator[Any]:
    made: list[str] = []

    def make(*changes: str, root: bytes | None = None) -> str:
        tag = uuid4().hex[:8]
        swarm_under_test.client.import_image_from_data(
            root or pack_root({"agent": WAITS}, applets=APPLETS),
            repository="berth-test/hostile",
            tag=tag,
            changes=['CMD ["/agent"]', "ENV PATH=/bin", *changes],
        )
        made.append(f"berth-test/hostile:{tag}")
        return made[-1]

    yield make
    swarm_under_test.clean_up()
    for image in made:
        swarm_under_test.client.remove_image(image, force=True)


@pytest.mark.parametrize(
    "what", ["link to a tmpfs", "link elsewhere", "file", "credentials", "ports", "volume inside", "root"]
)
def test_an_image_that_would_harm_is_refused_before_anything_is_created(
    swarm_under_test: SwarmUnderTest, image_with: Any, what: str
) -> None:
    image = {
        "link to a tmpfs": lambda: image_with(root=with_entry("data", tarfile.SYMTYPE, "/tmp")),
        "link elsewhere": lambda: image_with(root=with_entry("data", tarfile.SYMTYPE, "/var/x")),
        "file": lambda: image_with(root=with_entry("data", tarfile.REGTYPE)),
        "credentials": lambda: image_with(root=with_entry("run/secrets", tarfile.SYMTYPE, "/data")),
        "ports": lambda: image_with("EXPOSE 1-65535/tcp", "EXPOSE 1-65535/udp"),
        "volume inside": lambda: image_with("VOLUME /data/x"),
        "root": lambda: image_with("VOLUME /"),
    }[what]()
    spec = make_spec(swarm_under_test, image=image)
    with pytest.raises(ImageUnusableError, match=r"In the image|The image declares"):
        swarm_under_test.engine.deploy(spec, confirm=yes)
    assert swarm_under_test.id_of(swarm_under_test.name) is None
    assert swarm_under_test.volumes(swarm_under_test.name) == set()
    assert not swarm_under_test.client.containers(all=True, filters={"ancestor": image})


def test_volumes_of_an_image_are_memory_and_leave_nothing_behind(
    swarm_under_test: SwarmUnderTest, image_with: Any
) -> None:
    client = swarm_under_test.client
    paths = ("/data", "/tmp/", "/run", "/run/agent", "/dev/shm", "/home/agent", "/home//agent", "/var/lib/x")
    deploy(swarm_under_test, image=image_with(*(f'VOLUME ["{path}"]' for path in paths)), user=20007)
    container = swarm_under_test.container_of(swarm_under_test.name)
    used = {mount["Name"] for mount in client.inspect_container(container)["Mounts"] if mount.get("Name")}
    assert len(used) == 3, "Its memory, and the directories of its status and its credentials."
    _, mounts = run_inside(client, container, "cat", "/proc/mounts")
    kinds = {line.split()[1]: line.split()[2] for line in mounts.splitlines()}
    assert {kinds[path] for path in ("/tmp", "/run", "/run/agent", "/dev/shm", "/home/agent", "/var/lib/x")} == {
        "tmpfs"
    }
    for path in ("/data", "/home/agent", "/var/lib/x"):
        assert run_inside(client, container, "sh", "-c", f"echo x >{path}/x") == (0, "")
    swarm_under_test.engine.remove(swarm_under_test.key, volumes=True)
    wait_until(lambda: not used & {volume["Name"] for volume in client.volumes()["Volumes"] or ()})
