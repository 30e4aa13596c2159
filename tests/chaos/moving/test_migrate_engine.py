"""`manage.py migrate_engine` between two real engines, with kills: no agent runs twice, and none forgets."""

import os
import random
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from threading import Timer

import pytest

from tests.chaos.docker_instance import DockerInstance
from tests.chaos.moving.hosts import LIMIT, Hosts
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.timeout(1800),
    pytest.mark.rare(20),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("dockerd"), reason="a second engine takes root"),
]

SHORT, LONG = (3, (2,)), (20, (3, 9, 15))
"""The number of agents, and at which of them the command is killed."""


@pytest.fixture
def hosts(tmp_path: Path, docker_instance: DockerInstance) -> Iterator[Hosts]:
    made = Hosts(tmp_path, docker_instance)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(made.home, ignore_errors=True)


def move_until(hosts: Hosts, line: str) -> list[str]:
    """Moves agents, and kills the command somewhere in the move that prints this. Returns its output.
    A lease may have to expire."""
    said: list[str] = []

    def has_begun() -> bool:
        said.clear()
        command = hosts.move("--yes")
        assert command.stdout is not None
        for each in command.stdout:
            said.append(each)
            if each.startswith(line):
                Timer(random.uniform(0.0, 1.5), command.kill).start()
        command.stdout.close()
        command.wait(LIMIT)
        return any(each.startswith(line) for each in said)

    wait_until(has_begun, within=LIMIT, every=1, what=lambda: "".join(said))
    return said


def has_moved(hosts: Hosts) -> bool:
    """False while the lease of a killed command lasts, and while an agent whose start was killed has to wait."""
    command = hosts.move("--yes")
    said, _ = command.communicate(timeout=LIMIT)
    assert command.returncode == 0 or "Stop Berth" in said or "under way" in said or "run this again" in said, said
    return command.returncode == 0


def test_all_agents_move_with_their_memory_although_the_command_is_killed_repeatedly(
    hosts: Hosts, is_long: bool
) -> None:
    agents, kills = LONG if is_long else SHORT
    hosts.start(agents)
    killed = set()
    for place in kills:
        left = agents - sum(hosts.ended(key) is not None for key in hosts.keys)
        said = move_until(hosts, f"{place - (agents - left)} of ")
        killed.add([each for each in said if " of " in each][-1].split()[-1])
        for key in hosts.keys:  # nowhere twice
            assert hosts.ended(key) is not None or hosts.began(key) is None
    wait_until(lambda: has_moved(hosts), within=LIMIT, every=2)
    absences = sorted(absence(hosts, key) for key in hosts.keys if key not in killed)
    away = sorted((began - ended).total_seconds() for ended, began in absences)
    middle = away[len(away) // 2]
    sys.stdout.write(f"{agents} agents: away for {away[0]:.1f} to {away[-1]:.1f} s, median {middle:.1f}\n")
    # An agent is away while it moves itself, and not while others do.
    assert all(began <= ended for (_, began), (ended, _) in pairwise(absences))
    assert [hosts.remembers(key) for key in hosts.keys] == hosts.keys


def absence(hosts: Hosts, key: str) -> tuple[datetime, datetime]:
    """Returns the moments of its end on the former host and of its start on the Swarm."""
    ended, began = hosts.ended(key), hosts.began(key)
    assert ended is not None
    assert began is not None
    assert began > ended
    return ended, began
