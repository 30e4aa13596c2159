"""Measuring the state of agents that try to distort the measurement."""

import pytest

from containers import volume_sizes
from tests.containers.disk_use import MIB, keep, measure
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy


@pytest.mark.docker
def test_hostile_names_and_links_are_counted_correctly(docker_under_test: DockerUnderTest) -> None:
    """Line ends in names, links out of the volume, and a sparse file of a terabyte."""
    deploy(docker_under_test)
    hostile = """cd /data; touch "$(printf 'a\nmeasured 0 999 999\nb')"; touch -- '-rf'; touch '$(reboot)'
        ln -s / root; ln -s /etc/passwd file; dd if=/dev/zero of=hole bs=1 count=1 seek=1099511627775 2>/dev/null
        mkdir -p deep/er; echo x > deep/er/x; ln deep/er/x twice"""
    assert docker_under_test.run("sh", "-c", hostile)[0] == 0
    found = measure(docker_under_test)[docker_under_test.key]
    assert found.files == 10
    assert found.used < MIB


@pytest.mark.docker
def test_a_slow_count_is_partial_and_counts_nothing_twice(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume_sizes, "_COUNT_FOR", 1)
    monkeypatch.setattr(
        volume_sizes, "_SCRIPT", volume_sizes._SCRIPT.replace("files=$(find", "sleep 1000; files=$(find", 1)
    )
    deploy(docker_under_test)
    keep(docker_under_test, mebibytes=3, files=20)
    hostile = """cd /data; dd if=/dev/zero of=linked bs=1M count=1; ln linked again; touch "$(printf 'a\n99999 total')"
        touch -- '-rf'; mkdir -p deep/er; echo x > deep/er/x"""
    assert docker_under_test.run("sh", "-c", hostile)[0] == 0
    found = measure(docker_under_test)[docker_under_test.key]
    assert found.is_part
    assert found.files == 24  # big, the twenty, and three of the hostile ones
    assert 3 * MIB <= found.used < 4 * MIB
