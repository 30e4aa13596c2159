"""While the disk is full, the gateway says so, tells what it has counted and seen, and goes on when there is room."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.conftest import new_agent, numbers
from tests.gateway.full_disk import SmallDisk, small_disk
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")]


@pytest.fixture
def disk(own_gateway: Gateway) -> Iterator[SmallDisk]:
    try:
        with small_disk(own_gateway.folder / "state") as disk:
            yield disk
            own_gateway.kill()
    except subprocess.CalledProcessError:
        pytest.skip("The system allows no mounts.")


@pytest.fixture
def limited(own_gateway: Gateway, disk: SmallDisk, telegram: FakeTelegram, provider: StreamingProvider) -> Agent:
    agent = new_agent(own_gateway.start(), telegram, provider)
    own_gateway.apply(agent.entry(budget={"day_tokens": 3000}))
    provider.words = 100
    assert agent.chat("a", max_tokens=100).status == 200
    agent.settled(1)
    return agent


def test_everything_but_calls_under_a_budget_works_while_the_disk_is_full(
    own_gateway: Gateway, disk: SmallDisk, limited: Agent, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    free = new_agent(own_gateway, telegram, provider)
    before = own_gateway.settled(limited.project)
    disk.fill()
    while (answer := limited.chat("a", max_tokens=100)).status == 200:
        pass
    assert answer.status == 503
    assert answer.json()["error"]["type"] == "server_error"
    assert "its disk is full" in answer.json()["error"]["message"]
    assert answer.headers["retry-after"] == "5"
    assert free.chat("a").status == 200
    assert free.bot("getMe").status == 200
    assert own_gateway.ask("usage", since=0)["ok"]
    assert own_gateway.settled(limited.project)["requests"] >= before["requests"]
    seen = own_gateway.ask("truth")
    assert seen["seen"][limited.project]["provider_status"] == 200
    assert "its disk is full" in seen["trouble"]
    refused = own_gateway.ask("apply", version=own_gateway.version + 1, entries=[limited.entry()], void=[])
    assert (refused["ok"], refused["later"]) == (False, True)
    assert "its disk is full" in refused["error"]
    disk.make_room()
    wait_until(lambda: own_gateway.ask("truth")["trouble"] == "", within=PATIENCE)
    while limited.chat("a", max_tokens=100).status == 200:
        pass
    assert own_gateway.settled(free.project)["requests"] == 1
    counted = limited.settled(1)
    assert own_gateway.stop() == 0
    assert 0 < counted["input"] + counted["output"] <= 3000
    assert counted["estimated"] == 0


@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_gateway_starts_although_its_disk_takes_no_data(
    own_gateway: Gateway, disk: SmallDisk, limited: Agent, telegram: FakeTelegram, provider: StreamingProvider,
    fault: str
) -> None:  # fmt: skip
    free = new_agent(own_gateway, telegram, provider)
    own_gateway.kill()
    (disk.folder / "entries" / "half.new").write_text("")
    begin, end = (disk.fill, disk.make_room) if fault == "full" else (disk.forbid_writes, disk.allow_writes)
    begin()
    own_gateway.start()
    assert (limited.chat("a", max_tokens=100).status, free.chat("a").status, free.bot("getMe").status) == (
        503,
        200,
        200,
    )
    assert f"its disk is {fault}" in own_gateway.ask("truth")["trouble"]
    end()
    wait_until(lambda: limited.chat("a", max_tokens=100).status == 200, within=PATIENCE)
    assert own_gateway.ask("truth")["trouble"] == ""


@pytest.mark.parametrize("fault", ["full", "full of files", "read-only"])
def test_a_gateway_starts_for_the_first_time_although_its_disk_takes_no_data(
    own_gateway: Gateway, disk: SmallDisk, telegram: FakeTelegram, provider: StreamingProvider, fault: str
) -> None:
    if fault == "read-only":
        disk.forbid_writes()
    else:
        disk.fill()
    if fault == "full of files":
        disk.take_all_files()
    agent = Agent(own_gateway.start(), telegram, provider, number=next(numbers))
    refused = own_gateway.ask("apply", version=own_gateway.version + 1, entries=[agent.entry()], void=[])
    assert (refused["ok"], refused["later"]) == (False, True)
    assert own_gateway.ask("versions")["versions"] == {}
    assert "its disk is " in own_gateway.ask("truth")["trouble"]
    if fault == "read-only":
        disk.allow_writes()
    else:
        disk.make_room()
    own_gateway.apply(agent.entry(budget={"day_tokens": 3000}))
    wait_until(lambda: agent.chat("a", max_tokens=100).status == 200, within=PATIENCE)
    assert own_gateway.ask("truth")["trouble"] == ""
