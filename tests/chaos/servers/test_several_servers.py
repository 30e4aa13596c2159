"""Several web servers: no read fails, and no command is lost or carried out twice, no matter what goes away."""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.database.postgres import find_programs
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.races.racing import assert_one_at_a_time
from tests.chaos.servers.cluster import Cluster
from tests.chaos.servers.machines import PROGRAM
from tests.sampling import Some

log = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(3600),
    pytest.mark.rare(3),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="machines take root and unshare"),
    pytest.mark.skipif(not PROGRAM or find_programs() is None, reason="nginx or PostgreSQL is not installed"),
]

FAULTS: dict[str, Callable[[Cluster], None]] = {
    "kill -9 of the machine that leads": Cluster.kill_one,
    "a rolling restart": Cluster.roll,
    "the database is restarted": Cluster.restart_database,
    "the leader stands still": Cluster.freeze_leader,
    "the leader does not see the engine": Cluster.blind_leader,
    "the engine hangs for the leader": lambda cluster: cluster.blind_leader("hang"),
}


@pytest.fixture
def cluster(tmp_path: Path, docker_instance: DockerInstance, is_long: bool) -> Iterator[Cluster]:
    made = Cluster(tmp_path, docker_instance, is_large=is_long)
    try:
        yield made
    finally:
        made.close()


def test_no_read_fails_and_no_command_is_lost_or_doubled(
    cluster: Cluster, is_long: bool, some: Some, pytestconfig: pytest.Config
) -> None:
    times = max(1, pytestconfig.getoption("--repeats") // 5)
    faults = list(FAULTS) * times if is_long else some(list(FAULTS), one_in=len(FAULTS))
    cluster.start()
    load, told = cluster.load, list[str]()
    load.begin(readers=4 if is_long else 1, commanders=3 if is_long else 1, pause=0.1 if is_long else 0.3)
    try:
        for name in faults:
            reads, made, began = load.reads, len(load.made), time.monotonic()
            FAULTS[name](cluster)
            took = time.monotonic() - began
            load.wait_for_more(reads=reads + 3, made=made)
            told.append(f"{name}: {took:.1f} s, {load.reads - reads} reads, {len(load.made) - made} made")
    finally:
        load.end()
    told.append(f"{load.reads} reads, the slowest {load.slowest:.1f} s, {len(load.failures)} failed")
    failed, summary = cluster.failed_reads(), "\n".join(told)
    log.info("%s\n%s", summary, cluster.nginx.errors())
    assert failed == [], f"{failed}\n{cluster.away}"
    cluster.assert_whole()
    assert_one_at_a_time(cluster.history())
