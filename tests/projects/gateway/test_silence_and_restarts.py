"""An agent that no longer polls is noticed, also if the gateway is restarted and has forgotten its polls."""

from datetime import timedelta

import pytest

from projects.models import Project
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.spending import Clock

pytestmark = pytest.mark.django_db


class Silence:
    """An agent that polled once, and the gateway's clock, which is also ours."""

    def __init__(self, gateway: MemoryGateway, project: Project, time: Clock, engine: MemoryEngine) -> None:
        self.gateway, self.project, self.time = gateway, project, time
        gateway.clock = self.read_clock
        started_at = time.now
        engine.containers[project.container_name].started_at = started_at
        Project.objects.update(started_at=started_at, sees_from=started_at)
        self.poll()

    def read_clock(self) -> float:
        return self.time.now.timestamp()

    def poll(self) -> None:
        at = self.time.now.timestamp()
        self.gateway.see(str(self.project.pk), last_poll=at, telegram_status=200, telegram_at=at)
        self.gateway.find(str(self.project.pk), at=at, token=False, polling=False)

    def code_after(self, seconds: float) -> str:
        self.time.now += timedelta(seconds=seconds)
        look_after_gateway()
        return Project.objects.get().seen_code


@pytest.fixture
def silence(gateway: MemoryGateway, project: Project, time: Clock, engine: MemoryEngine) -> Silence:
    return Silence(gateway, project, time, engine)


def test_silence_outlives_the_gateway(silence: Silence, gateway: MemoryGateway) -> None:
    assert silence.code_after(100) == ""
    assert silence.code_after(100) == "unresponsive"
    for _ in range(3):
        gateway.restart()
        assert silence.code_after(1) == silence.code_after(500) == "unresponsive"
    silence.poll()
    assert silence.code_after(1) == ""


def test_an_agent_that_hangs_when_the_gateway_is_restarted_is_noticed(silence: Silence, gateway: MemoryGateway) -> None:
    assert silence.code_after(10) == ""
    gateway.restart()
    assert silence.code_after(170) == "", "A poll may take its time."
    assert silence.code_after(20) == "unresponsive"


def test_an_agent_that_only_sends_may_be_silent_after_a_restart_of_the_gateway(
    silence: Silence, gateway: MemoryGateway
) -> None:
    Project.objects.update(seen_well="")
    gateway.restart()
    at = silence.time.now.timestamp()
    gateway.see(str(silence.project.pk), telegram_status=200, telegram_at=at)
    assert silence.code_after(100) == ""
    gateway.restart()
    assert silence.code_after(5000) == ""
