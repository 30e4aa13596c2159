"""The list in `docs/socket-proxy.md`: everything that a socket proxy must let through, and nothing else."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.gateway.protocol import GatewayClient
from containers.gateway.vocabulary import GatewaySpec
from containers.hardening import data_volume
from containers.identity import network_name
from tests.containers.proxied import socket_proxy
from tests.containers.rootfs import make_images
from tests.fakes.faulty_docker import faulty_docker
from tests.gateway.image import ensure_gateway_image
from tests.paths import ROOT
from tests.security.agents import Agents
from tests.waiting import wait_until

pytestmark = pytest.mark.docker
DOCUMENT = ROOT / "docs/socket-proxy.md"
LISTED = set(re.findall(r"^\| (GET|POST|PUT|DELETE) \| `(/[^`]+)` \|$", DOCUMENT.read_text(), re.MULTILINE))


@pytest.fixture
def behind_proxy(agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Agents, list[str]]]:
    """Agents on an engine behind a proxy, and the requests that the proxy receives."""
    ensure_gateway_image(agents.client)
    image, probed = make_images(agents.client, f"{agents.instance}-proxied")
    instance = f"{agents.instance}p"
    with ExitStack() as stack:
        # Berth's requests are recorded in front of the proxy, which asks the engine for more.
        monkeypatch.setenv("DOCKER_HOST", stack.enter_context(socket_proxy(tmp_path, instance=instance)))
        proxy = stack.enter_context(faulty_docker(tmp_path))
        monkeypatch.setenv("DOCKER_HOST", proxy.url)
        proxied = Agents(agents.client, image, instance, engine=DockerEngine())
        try:
            yield proxied, proxy.requests
        finally:
            proxied.close()
            for name in (image, probed):
                agents.client.remove_image(name, force=True)


def test_berth_s_calls_to_the_engine_match_the_document(behind_proxy: tuple[Agents, list[str]], tmp_path: Path) -> None:
    agents, asked = behind_proxy
    live_a_life(agents)
    assert {shape_of(request) for request in asked} == LISTED
    assert "Refused" not in (tmp_path / "proxy.log").read_text()
    unversioned = {each.split()[1].partition("?")[0] for each in asked if not re.match(r"\w+ /v\d", each)}
    assert unversioned == {"/version"}


def live_a_life(agents: Agents) -> None:
    """Calls every verb of the engine, in every state that leads to another request."""
    engine, within = agents.engine, {"berth.owner": "alice"}
    engine.ping()
    engine.describe_host()
    engine.image_exists(agents.image)
    engine.describe_image(agents.image)
    name = agents.deploy("").name
    with agents.settings():
        engine.ensure_firewall()
        with override_settings(BERTH_BOOT_FIREWALL="on"):
            engine.ensure_firewall()
        list(engine.logs(name, tail=1))
        list(islice(engine.logs(name, follow=True), 1))
        engine.observe(within)
        engine.list_volumes(within)
        engine.stats(name)
        list(engine.events(within, timeout=0.2))
        hear(engine, name)
        with pytest.raises(EngineRefusedError, match="already"):  # a restore checks whether it is in the way
            engine.write_state(name, volume=data_volume(name), labels={}, image=agents.image, pieces=[])
        agents.client.pause(name)
        engine.stop(name, timeout=2)
    agents.deploy("", name=name)
    crashing = agents.deploy("crash").name
    with agents.settings():
        agents.client.disconnect_container_from_network(name, network_name())
        agents.client.connect_container_to_network(name, "bridge")
        engine.realign(name)
    agents.client.rename(name, f"{name}-renamed")
    agents.client.rename(crashing, name)  # the next deploy gives it a name of its own again
    agents.deploy("", name=name, generation=2)
    with agents.settings():
        wait_until(lambda: engine.inspect(crashing).state == "exited")  # type: ignore[union-attr]  # it is there
        engine.stop(crashing, timeout=2)
        for each in (name, crashing):
            engine.remove(each, volumes=True)
        engine.ensure_gateway(GatewaySpec(key=Fernet.generate_key().decode()))
        GatewayClient(engine.gateway(), within=100).ping()
        engine.remove_gateway(state=True)


def hear(engine: DockerEngine, name: str) -> None:
    """Follows its reports and the events about it."""
    found = engine.inspect(name)
    assert found is not None
    assert found.started_at is not None
    until = found.started_at + timedelta(milliseconds=1)
    with suppress(
        EngineUnavailableError
    ):  # it was asked, and other tests may have caused too many events for an answer
        assert engine.find_newest_event({}, since=found.started_at - timedelta(seconds=100), until=until)
    streams = engine.report_streams()
    streams.follow({found.container_id: name})
    try:
        assert wait_until(lambda: streams.wait(0.2)) == {name}
    finally:
        streams.close()


def shape_of(request: str) -> tuple[str, str]:
    """Returns `GET` and `/containers/{id}/json` for `GET /v1.41/containers/4711/json?size=0 HTTP/1.1`."""
    method, target, _ = request.split()
    path = re.sub(r"^/v\d\.\d+", "", target.partition("?")[0])
    if path in {"/containers/json", "/containers/create", "/networks/create"}:
        return method, path
    path = re.sub(r"^/containers/[^/]+", "/containers/{id}", path)
    path = re.sub(r"^/exec/[^/]+/start$", "/exec/{id}/start", path)
    path = re.sub(r"^/images/.+/json$", "/images/{name}/json", path)
    return method, re.sub(r"^/(networks|volumes)/[^/]+", r"/\1/{name}", path)
