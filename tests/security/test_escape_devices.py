"""An agent whose image has a node of every device, open to everyone: the kernel lets it open the harmless ones."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.busybox import BUSYBOX
from tests.security.agents import Agents

pytestmark = [pytest.mark.docker, pytest.mark.one_database]

HARMLESS = {"c1.3": "null", "c1.5": "zero", "c1.7": "full", "c1.8": "random", "c1.9": "urandom"}
OF_TERMINALS = {"c5.0": "tty", "c5.2": "ptmx"}
"""Those of the container itself, which it has anyway."""

LET_THROUGH_BY_RUNC = {"c5.1": "console", "c10.200": "tun"}
"""runc lets every container open these, and no setting of the engine forbids it (SECURITY.md, “What is not promised”).
Without a capability, nobody makes an interface with the second one."""

OPENS_ALL = """#!/bin/sh
trap 'exit 0' TERM
opened=$(for each in /devices/*; do
    { (exec 3<$each) || (exec 3>>$each); } 2>/dev/null && echo -n ",\\"${each#/devices/}\\""
done)
echo "FOUND [${opened#,}]"
while :; do sleep 1; done
"""
MANY = {1, 4, 5, 10}  # memory, terminals and what has no number of its own


@pytest.fixture
def image(agents: Agents) -> Iterator[str]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for folder in ("bin", "tmp", "run", "data", "devices"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, content in (("bin/busybox", BUSYBOX.read_bytes()), ("agent", OPENS_ALL.encode())):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        for name in ("sh", "sleep", "echo"):
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
        for entry in _nodes():
            archive.addfile(entry)
    name = f"berth-test/devices:{agents.instance}"
    agents.client.import_image_from_data(
        buffer.getvalue(),
        repository=name.partition(":")[0],
        tag=agents.instance,
        changes=['CMD ["/agent"]', "ENV PATH=/bin"],
    )
    yield name
    agents.remove_all()
    agents.client.remove_image(name, force=True)


def _nodes() -> Iterator[tarfile.TarInfo]:
    for letter, kind in (("c", tarfile.CHRTYPE), ("b", tarfile.BLKTYPE)):
        for major in range(260):
            # An overlay takes the node 0.0 for a deleted file.
            for minor in range(256 if letter == "c" and major in MANY else 1 + (major == 0)):
                if major or minor:
                    entry = tarfile.TarInfo(f"devices/{letter}{major}.{minor}")
                    entry.type, entry.mode, entry.devmajor, entry.devminor = kind, 0o666, major, minor
                    yield entry


def test_a_device_in_the_image_is_not_opened(agents: Agents, image: str) -> None:
    opened = set(agents.found_by(agents.deploy("", image=image, nano_cpus=10**9).name, seconds=120))
    assert opened >= HARMLESS.keys(), "The nodes are there, and can be opened."
    assert opened <= HARMLESS.keys() | OF_TERMINALS.keys() | LET_THROUGH_BY_RUNC.keys()
    assert any(Path("/sys/dev/block").iterdir()), "This machine has disks."
