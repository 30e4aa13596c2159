"""A `serve` with the web server alone or the watcher alone, and one that drains before it ends."""

import signal
import socket
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import Client

from config.draining import DRAIN
from config.serving.roles import Role
from config.serving.supervision import supervisor as supervisor_module
from config.serving.supervision.children import WATCHER, WEB
from config.serving.supervision.handover import NOBODY_LISTENS, VARIABLE, Predecessors, execute_again
from config.serving.supervision.supervisor import Supervisor
from tests.config.serving.supervision.test_ends import Child
from tests.fakes.engine import MemoryEngine


@pytest.mark.parametrize(
    ("role", "names"), [(Role.ALL, [WEB, WATCHER]), (Role.WEB, [WEB]), (Role.WATCHER, [WATCHER])], ids=str
)
def test_a_role_starts_only_the_processes_that_it_names(
    role: Role, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor: Any = Supervisor(role=role)
    monkeypatch.setattr(supervisor, "_listen_to_signals", Mock())
    monkeypatch.setattr(supervisor._child_starter, "start", Mock(side_effect=lambda *_, **__: Child()))
    monkeypatch.setattr(supervisor, "_look_after_children", lambda: supervisor._on_stop(signal.SIGTERM, None))
    assert supervisor.run() == 0
    assert list(supervisor._children) == names


def test_a_watcher_alone_is_ready_when_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """A web server alone is ready when a worker serves. Its predecessor may end then."""
    supervisor: Any = Supervisor(role=Role.WATCHER)
    monkeypatch.setattr(supervisor._child_starter, "start", Mock(return_value=Child()))
    monkeypatch.setattr(supervisor._predecessors, "release", released := Mock())
    supervisor._watcher.start()
    supervisor._note_ready()
    released.assert_not_called()
    supervisor._watcher.due.value += 10.0
    supervisor._note_ready()
    released.assert_called_once()


def test_a_watcher_alone_hands_over_without_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    executed = Mock(side_effect=InterruptedError)
    monkeypatch.setattr("config.serving.supervision.handover.os.execve", executed)
    monkeypatch.setattr("config.serving.supervision.handover.os.set_inheritable", Mock())
    monkeypatch.setattr("config.serving.supervision.handover.signal.signal", Mock())
    with pytest.raises(InterruptedError):
        execute_again(None, 17, {18}, {})
    monkeypatch.setenv(VARIABLE, executed.call_args.args[2][VARIABLE])
    taken = Predecessors.read()
    assert (taken.listener, taken.hand_over, 18 in taken.pids) == (None, True, True)
    assert str(NOBODY_LISTENS) not in map(str, taken.pids)


class Draining(Child):
    """A web server that ends when it is told to, and whose parent checks it twice in between."""

    sentinel = 0


def test_a_draining_server_keeps_serving_while_it_reports_draining(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.BERTH_DRAIN_SECONDS = 5
    supervisor: Any = Supervisor()
    web, watcher, now = Draining(), Child(), 100.0
    supervisor._children = {WEB: web, WATCHER: watcher}
    seen = []

    def wait(_: object, timeout: float) -> None:
        nonlocal now
        now += timeout
        seen.append((supervisor._draining.value, list(web.log)))

    monkeypatch.setattr(supervisor_module, "wait", wait)
    monkeypatch.setattr("config.serving.supervision.supervisor.time.monotonic", lambda: now)
    supervisor._on_stop(signal.SIGTERM, None)
    assert (web.log, watcher.log) == ([], ["TERM"])  # another watcher may lead at once
    supervisor._drain()
    assert seen == [(1, [])] * 5
    assert supervisor._end() == 0
    assert web.log == ["TERM"]


def test_a_second_signal_ends_a_draining_server(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.BERTH_DRAIN_SECONDS = 300
    supervisor: Any = Supervisor()
    web = Draining()
    supervisor._children = {WEB: web, WATCHER: Child()}
    monkeypatch.setattr(supervisor_module, "wait", lambda *_, **__: supervisor._on_stop(signal.SIGTERM, None))
    supervisor._on_stop(signal.SIGTERM, None)
    supervisor._drain()
    assert (web.log, supervisor._end()) == (["KILL"], 128 + signal.SIGTERM)


@pytest.mark.parametrize("seconds", [0, 3])
def test_connections_are_accepted_while_a_worker_can_answer_them(seconds: int, settings: Any) -> None:
    """With a copy of the socket that outlives the accepting processes,
    the kernel would accept clients and reset them later."""
    settings.BERTH_DRAIN_SECONDS = seconds
    with socket.create_server(("127.0.0.1", 0)) as listener:
        supervisor: Any = Supervisor(listener)
        supervisor._children = {WEB: Child(), WATCHER: Child()}
        supervisor._on_stop(signal.SIGTERM, None)
        assert (listener.fileno() == -1) is (seconds == 0)


@pytest.mark.django_db
def test_readiness_turns_red_and_life_does_not(
    client: Client, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def statuses() -> dict[str, int]:
        return {path: client.get(path).status_code for path in ("/healthz", "/readyz", "/readyz/server")}

    assert statuses() == {"/healthz": 200, "/readyz": 200, "/readyz/server": 200}
    engine.unavailable = True  # for all servers, so it is no reason to avoid this one
    assert statuses() == {"/healthz": 200, "/readyz": 503, "/readyz/server": 200}
    engine.unavailable = False
    flag = Mock(value=1)
    monkeypatch.setattr(DRAIN, "_flag", flag)
    assert statuses() == {"/healthz": 200, "/readyz": 503, "/readyz/server": 503}
    assert client.get("/readyz").json()["server"] == "ending"
