"""Lets an agent under test store something, and measures it."""

from django.test import override_settings

from containers.vocabulary import DiskUse
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import EngineUnderTest
from tests.containers.inside import run_inside
from tests.containers.memory_under_test import MemoryUnderTest
from tests.containers.swarm.under_test import SwarmUnderTest

MIB = 1 << 20
MANY = 1000


def measure(under_test: EngineUnderTest, *keys: str, most: int = MANY) -> dict[str, DiskUse]:
    """In a Swarm that has no gateways: those have an image of Berth's for it."""
    most_of = dict.fromkeys(keys or [under_test.key], most)
    with override_settings(BERTH_GATEWAY=False):
        return dict(under_test.engine.measure_disks(most_of, images=[under_test.image]))


def keep(under_test: EngineUnderTest, *, mebibytes: int = 0, files: int = 0) -> None:
    if isinstance(under_test, MemoryUnderTest):
        under_test.engine.fill(under_test.key, mebibytes * MIB, files=files + (mebibytes > 0))
        return
    user = f"dd if=/dev/zero of=/data/big bs=1M count={mebibytes}; " if mebibytes else ""
    many = f'for n in $(seq {files}); do : > "/data/$n"; done' if files else ":"
    if isinstance(under_test, SwarmUnderTest):
        container = under_test.container_of(under_test.name)
        code, printed = run_inside(under_test.client, container, "sh", "-c", f"{user}{many}")
    else:
        assert isinstance(under_test, DockerUnderTest)
        code, printed = under_test.run("sh", "-c", f"{user}{many}")
    assert code == 0, printed
