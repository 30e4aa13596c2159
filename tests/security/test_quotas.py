"""An agent takes everything that the kernel gives its user. Others still get what they need."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.security.agents import MEGABYTE, Agents
from tests.security.inside.quotas import QUOTAS

pytestmark = pytest.mark.docker
SHARED, OTHER = 1_900_000_001, 1_900_000_002


def run(agents: Agents, mode: str, user: int) -> Any:
    # A pro plan: the watches of inotify take some memory.
    name = agents.deploy(mode, user=user, memory=1024 * MEGABYTE, nano_cpus=10**9).name
    return agents.found_by(name, seconds=100)


@pytest.fixture(scope="module")
def greedy(agents: Agents) -> Iterator[Any]:
    """The error with which each quota ended for an agent that keeps all of them."""
    yield run(agents, "greedy", SHARED)
    agents.remove_all()


@pytest.fixture(scope="module")
def neighbour(agents: Agents, greedy: Any) -> Any:
    """What an agent of another user gets meanwhile, as each project has its own."""
    return run(agents, "modest", OTHER)


@pytest.fixture(scope="module")
def same_user(agents: Agents, greedy: Any) -> Any:
    """What an agent of the same user gets meanwhile, as if all agents had one user."""
    return run(agents, "modest", SHARED)


@pytest.mark.parametrize("quota", QUOTAS)
def test_another_agent_keeps_its_share(greedy: Any, neighbour: Any, quota: str) -> None:
    assert greedy[quota] not in {"no end", "EPERM"}
    assert neighbour[quota] == "fine"


def within_reach(quota: str) -> bool:
    """Returns whether one agent can take all of it on this host."""
    most = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    return quota != "inotify instances" or most < 1000


@pytest.mark.parametrize("quota", [quota for quota in QUOTAS if within_reach(quota)])
def test_without_separate_users_an_agent_would_lose_its_share(same_user: Any, quota: str) -> None:
    """This shows that the test can fail, and that separate users prevent it."""
    assert same_user[quota] != "fine"
