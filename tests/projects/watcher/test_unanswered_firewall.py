"""An engine that answers about its containers and not about its networks, on which the check of the firewall depends,
keeps no round from seeing what agents do."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from projects.models import Event, Project, Watch
from projects.models.processes.watcher import read_heartbeat
from projects.watcher import protection
from projects.watcher import watcher as loop
from projects.watcher.protection import Protection
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

WARNING = "Agents can reach this host and private networks: iptables is not installed here."


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(protection, "FIREWALL_EVERY", 0.02)
    monkeypatch.setattr(protection, "WITHIN", 0.02)


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def watch() -> Iterator[Any]:
    with watchers_in_threads() as start:
        yield start


def fail(error: EngineError) -> Callable[[], object]:
    def hook() -> object:
        raise error

    return hook


ERRORS = {
    "times out": EngineUnavailableError("The container engine did not answer in time."),
    "refuses": EngineRefusedError("The network was not created by this installation."),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.every_case
@pytest.mark.parametrize("fault", ["hangs", *ERRORS])
def test_rounds_go_on_while_the_firewall_cannot_be_checked(
    deploy: Callable[..., Project], engine: MemoryEngine, held: threading.Event, watch: Any, fault: str
) -> None:
    victim = deploy(name="Victim")
    engine.slow("ensure_firewall", fail(ERRORS[fault]) if fault in ERRORS else held)
    watch()
    wait_until(read_heartbeat, within=60, what="There is no heartbeat")
    engine.crash(victim.container_name, exit_code=3)
    wait_until(Event.objects.filter(project_id=victim.pk, action="crash").exists, within=60, what="No crash was seen")
    before = read_heartbeat()
    wait_until(lambda: read_heartbeat() != before, within=60)
    engine.slow("ensure_firewall", None)
    engine.firewall_warning = WARNING
    held.set()
    wait_until(Watch.objects.filter(firewall_warning=WARNING).exists, within=60, what="It is not checked again")


@pytest.mark.django_db
def test_what_was_found_last_counts_while_the_engine_says_nothing(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Protection()
    engine.firewall_required, engine.firewall_warning = True, WARNING

    def is_barred() -> bool:
        guard.step()
        return guard.barred

    wait_until(is_barred, within=60)
    engine.slow("ensure_firewall", fail(ERRORS["times out"]))
    seen = engine.calls.count(("ensure_firewall", ""))
    wait_until(lambda: is_barred() and engine.calls.count(("ensure_firewall", "")) > seen + 2, within=60)
    guard.stop()
    assert is_barred()
    assert not Watch.objects.filter(bars_agents=False).exists()
    assert caplog.text.count("The agents' firewall cannot be checked") == 1
