"""Lets an agent under test store something, and measures it."""

from containers.vocabulary import DiskUse
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import EngineUnderTest
from tests.containers.memory_under_test import MemoryUnderTest

MIB = 1 << 20
MANY = 1000


def measure(under_test: EngineUnderTest, *keys: str, most: int = MANY) -> dict[str, DiskUse]:
    found = under_test.engine.measure_disks(dict.fromkeys(keys or [under_test.key], most), images=[under_test.image])
    return dict(found)


def keep(under_test: EngineUnderTest, *, mebibytes: int = 0, files: int = 0) -> None:
    if isinstance(under_test, MemoryUnderTest):
        under_test.engine.fill(under_test.key, mebibytes * MIB, files=files + (mebibytes > 0))
        return
    assert isinstance(under_test, DockerUnderTest)
    user = f"dd if=/dev/zero of=/data/big bs=1M count={mebibytes}; " if mebibytes else ""
    many = f'for n in $(seq {files}); do : > "/data/$n"; done' if files else ":"
    code, printed = under_test.run("sh", "-c", f"{user}{many}")
    assert code == 0, printed
