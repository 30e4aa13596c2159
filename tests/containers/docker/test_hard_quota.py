"""A hard limit on an agent's state if Docker's directory is on XFS with `pquota`, shown on a loop image.

The test has an engine of its own, in a separate network namespace.
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree, which
from tempfile import mkdtemp
from typing import Any

import pytest
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.docker.volumes import quota
from containers.hardening import container_payload
from containers.identity import own_labels
from containers.vocabulary import PROJECT_LABEL
from tests.chaos.private_engine import PrivateEngine
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy, make_spec
from tests.containers.memory_under_test import MemoryUnderTest
from tests.containers.rootfs import make_images
from tests.engines import connect

MIB = 1 << 20
CEILING = 64 * MIB


def run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)


@pytest.fixture
def xfs() -> Iterator[Path]:
    """A file system with quotas for each directory. Skips the test if this machine cannot have one, and says why."""
    home = Path(mkdtemp(prefix="bx-"))  # short, because the paths of its sockets are limited
    try:
        yield from mount_xfs(home)
    finally:
        rmtree(home)


def mount_xfs(home: Path) -> Iterator[Path]:
    if which("mkfs.xfs") is None:
        pytest.skip("mkfs.xfs is missing: install xfsprogs.")
    image, place = home / "image", home / "xfs"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(2 << 30)
    run("mkfs.xfs", "-q", image)
    try:
        run("mount", "-o", "loop,pquota", image, place)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"This kernel mounts no XFS with pquota (CONFIG_XFS_QUOTA): {error.stderr.strip()[:200]}")
    try:
        yield place
    finally:
        run("umount", place)


@pytest.mark.docker
def test_on_xfs_the_kernel_refuses_writes_beyond_the_quota(xfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = PrivateEngine(xfs / "engine")
    private.home.mkdir()
    with ExitStack() as stack:
        stack.callback(private.close)
        private.start()
        monkeypatch.setenv("DOCKER_HOST", private.url)
        monkeypatch.setattr("containers.docker.gateway.egress.Egress.require", lambda self: None)
        stack.enter_context(override_settings(BERTH_INSTANCE="xfs", BERTH_CONTAINER_NETWORK="none"))
        client = connect(private.url)
        stack.callback(client.close)
        under_test = DockerUnderTest(DockerEngine(), client, make_images(client, "xfs"))
        stack.callback(under_test.clean_up)
        deploy(under_test, disk_ceiling=CEILING)
        code, printed = under_test.run("dd", "if=/dev/zero", "of=/data/big", "bs=1M", "count=100")
        assert (code, "No space left" in printed) == (1, True), printed
        kept = dict(under_test.engine.measure_disks({under_test.key: 10**6}, images=[under_test.image]))
        assert CEILING // 2 < kept[under_test.key].used <= CEILING
        # The next deploy keeps the volume as it is.
        deploy(under_test, disk_ceiling=2 * CEILING, generation=2)
        assert under_test.run("ls", "/data")[1].split() == ["big"]
        # The same goes for a copy, the way back to it, and a restored backup.
        engine, key, state = under_test.engine, under_test.key, f"{under_test.name}-data"
        labels = {**own_labels(), PROJECT_LABEL: key}
        engine.remove(key)
        client.remove_volume(state)
        deploy(under_test, disk_ceiling=CEILING)
        engine.stop(key, timeout=1)
        engine.keep_copy(key, image=under_test.image, labels=labels)
        engine.remove(key)
        assert engine.return_copy(key, image=under_test.image)
        assert {sizes_of(client, name) for name in (state, f"{under_test.name}-former")} == {str(CEILING)}
        kept_state = b"".join(engine.read_state(key, image=under_test.image))
        engine.remove(key, volumes=True)
        engine.write_state(
            key, volume=state, labels=labels, image=under_test.image, pieces=[kept_state], ceiling=CEILING
        )
        assert sizes_of(client, state) == str(CEILING)
        deploy(under_test, disk_ceiling=CEILING)
        code, printed = under_test.run("dd", "if=/dev/zero", "of=/data/big", "bs=1M", "count=100")
        assert (code, "No space left" in printed) == (1, True), printed


def sizes_of(client: Any, volume: str) -> str:
    return str((client.inspect_volume(volume)["Options"] or {}).get("size"))


@pytest.mark.one_database
def test_only_the_volume_of_the_state_has_a_size() -> None:
    spec = make_spec(MemoryUnderTest(), disk_ceiling=CEILING)
    state, secrets = container_payload(spec, network="n", quota=CEILING)["HostConfig"]["Mounts"]
    assert state["VolumeOptions"]["DriverConfig"] == {"Name": "local", "Options": {"size": str(CEILING)}}
    assert "DriverConfig" not in secrets["VolumeOptions"]
    plain = container_payload(spec, network="n")["HostConfig"]["Mounts"]
    assert all("DriverConfig" not in mount["VolumeOptions"] for mount in plain)


@pytest.mark.one_database
def test_a_size_is_asked_for_with_a_new_volume_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def note(_connection: object, payload: dict[str, Any], _name: str) -> str:
        asked.append("DriverConfig" in payload["HostConfig"]["Mounts"][0]["VolumeOptions"])
        return "id"

    monkeypatch.setattr(quota, "_create", note)
    nobody: Any = None
    for is_new in (True, False):
        quota.HardQuota().create(nobody, make_spec(MemoryUnderTest(), disk_ceiling=CEILING), state="s", is_new=is_new)
    assert asked == [True, False]
