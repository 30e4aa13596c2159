"""The contents of a volume that is handed over, and the container that does it."""

import io
import tarfile
from typing import Any

from containers.volume_containers import HANDOVER_LABEL
from tests.containers.docker_under_test import DockerUnderTest

USER = 1_900_000_123
HOSTILE = r"""
cd /data; b=/bin/busybox
echo note > note; $b mkdir -p closed/inner; echo x > closed/inner/x; $b chmod 0 closed/inner closed
$b ln -s /etc/target to-file; $b ln -s /etc to-directory; $b ln -s /nowhere nowhere; $b ln -s . itself
$b ln -s /proc/1/root root; $b ln note second-name; $b mkfifo pipe; echo > -R; echo > "two
lines"; echo > "*"; echo > .hidden; $b mkdir .hidden-directory; echo > .hidden-directory/x; echo > setuid
$b chmod 6755 setuid
$b mkdir deep; cd deep; for n in $(seq 200); do $b mkdir d; cd d; done; echo > end
cd /data; for n in $(seq 300); do echo $n > file-$n; done
"""


def everything_in_data(under_test: DockerUnderTest) -> dict[str, tuple[int, int]]:
    """Each path of the volume with its owner and group."""
    chunks, _ = under_test.client.get_archive(under_test.name, "/data")
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        return {member.name: (member.uid, member.gid) for member in archive.getmembers()}


def helpers(under_test: DockerUnderTest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = under_test.client.containers(all=True, filters={"label": HANDOVER_LABEL})
    return [each for each in found if each["Labels"][HANDOVER_LABEL].startswith(f"{under_test.name}:")]
