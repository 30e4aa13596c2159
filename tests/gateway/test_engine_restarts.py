"""What becomes of the gateway, and of the way to it, when it or its engine stands still or ends."""

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import docker
import pytest
from cryptography.fernet import Fernet
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.docker_api.image_build import GATEWAY
from containers.errors import EngineError, EngineUnavailableError
from containers.gateway.entries import Entry
from containers.gateway.protocol import GatewayClient, Standing
from containers.gateway.words import GatewaySpec
from containers.vocabulary import ContainerState
from tests.chaos.private_engine import PrivateEngine
from tests.engines import connect
from tests.fakes.listening import accept_each, stop_listening
from tests.gateway.image import ensure_gateway_image
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="there is no dockerd for an engine of its own"),
]

PATIENCE = 100.0


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateEngine]:
    """An engine of its own, which has the gateway's image."""
    usual = connect()
    engine = PrivateEngine(Path(mkdtemp(prefix="bg-")))
    try:
        ensure_gateway_image(usual)
        engine.start()
        with_image = docker.APIClient(base_url=engine.url, version="auto", timeout=120)
        load: Any = with_image.load_image
        list(load(usual.get_image(GATEWAY.image)))
        with_image.close()
        yield engine
    finally:
        usual.close()
        engine.close()


@contextmanager
def forwarding(path: str) -> Iterator[str]:
    """The engine's socket over TCP, as a remote engine is reached. Yields its address."""

    def carry(from_: socket.socket, to: socket.socket) -> None:
        while piece := from_.recv(65536):
            to.sendall(piece)
        to.shutdown(socket.SHUT_WR)

    def serve(caller: socket.socket) -> None:
        with caller, socket.socket(socket.AF_UNIX) as engine:
            engine.connect(path)
            back = threading.Thread(target=carry, args=(engine, caller), daemon=True)
            back.start()
            carry(caller, engine)
            back.join()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept_each, args=(listener, serve), daemon=True).start()
    try:
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop_listening(listener)


@contextmanager
def engine_at(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerEngine]:
    monkeypatch.setenv("DOCKER_HOST", address)
    with override_settings(BERTH_INSTANCE="gwp", BERTH_CONTAINER_NETWORK="gwp-agents"):
        yield DockerEngine()


@pytest.fixture(scope="module")
def spec() -> GatewaySpec:
    return GatewaySpec(key=Fernet.generate_key().decode())


def test_a_remote_engine_carries_the_control_side_as_one_that_is_near_does(
    private: PrivateEngine, spec: GatewaySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with forwarding(private.url.removeprefix("unix://")) as address, engine_at(address, monkeypatch) as engine:
        engine.ensure_gateway(spec)
        client = GatewayClient(engine.gateway(), within=PATIENCE)
        entries = [Entry(project=f"p{number}", address="10.1.2.3") for number in range(1000)]
        assert set(client.apply(version=1, entries=entries).values()) == {1}
        assert len(client.versions()) == 1000


def only_child(pid: int) -> int:
    """Of the container's first process, which does nothing but start it."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def test_a_gateway_that_stands_still_is_not_waited_for_and_takes_no_other_call_with_it(
    private: PrivateEngine, spec: GatewaySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_at(private.url, monkeypatch) as engine:
        engine.ensure_gateway(spec)
        found = engine.inspect_gateway()
        assert found
        client = docker.APIClient(base_url=private.url, version="auto")
        pid = only_child(client.inspect_container(found.container_id)["State"]["Pid"])
        os.kill(pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            for _ in range(4):  # more than open the breaker
                with pytest.raises(EngineError):
                    GatewayClient(engine.gateway(), within=0.5).ping()
            assert time.monotonic() - began < 30
            engine.ping()
        finally:
            os.kill(pid, signal.SIGCONT)
            client.close()
        assert GatewayClient(engine.gateway(), within=PATIENCE).ping() == 1


def test_it_comes_back_with_its_engine_and_what_it_was_told_counts(
    private: PrivateEngine, spec: GatewaySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_at(private.url, monkeypatch) as engine:
        engine.ensure_gateway(spec)
        client = GatewayClient(engine.gateway(), within=PATIENCE)
        client.apply(version=5, void=["one"])
        before = engine.inspect_gateway()
        private.end(signal.SIGTERM)
        with pytest.raises(EngineUnavailableError):
            client.versions()
        private.start()

        def is_back() -> bool:
            try:
                return client.versions()["one"] == Standing(5, is_void=True)
            except EngineError:
                return False

        wait_until(is_back, within=PATIENCE, every=0.1)
        after = engine.inspect_gateway()
        assert before
        assert after
        assert after.container_id == before.container_id
        assert after.state is ContainerState.RUNNING
        engine.ensure_gateway(spec)
        now = engine.inspect_gateway()
        assert now
        assert now.container_id == before.container_id
        engine.remove_gateway(state=True)
