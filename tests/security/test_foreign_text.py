"""Text from engines, gateways, registries and builds stays text, wherever it comes in.

`test_agent_text.py` is about the text of agents, on its way to people; `config/logs/test_quoted_text.py` about the log.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import docker.errors
import pytest
from django.conf import settings

from containers.docker_api import registry
from containers.docker_api.building import run_build
from containers.docker_api.building.image_build import GATEWAY
from containers.docker_api.errors import translate_errors
from containers.errors import EngineError
from containers.gateway.messages import GARBLED
from containers.gateway.protocol import GatewayClient
from containers.identity import container_name, own_labels
from containers.swarm.gateway import conflicts
from containers.swarm.nodes.nodes import read_node, read_version
from containers.swarm.tasks.tasks import read_run
from projects.models import Quarantined
from projects.models.event import SYSTEM
from projects.services.inventory.quarantine import put_in_quarantine
from projects.watcher.gateway.usage import name_model
from tests.fakes.engine import MemoryEngine
from tests.security.test_agent_text import KINDS

pytestmark = pytest.mark.one_database

NODE: dict[str, Any] = {
    "ID": "n1", "Spec": {"Availability": "active"}, "Status": {"State": "ready"}, "Description": {"Engine": {}},
}  # fmt: skip
RUN: dict[str, Any] = {
    "ID": "t1",
    "DesiredState": "running",
    "CreatedAt": "2026-01-01T00:00:00Z",
    "Status": {"State": "failed", "Timestamp": "2026-01-01T00:00:00Z"},
}


class Connection:
    """A connection to an engine whose client has these methods."""

    def __init__(self, **methods: Any) -> None:
        self._client = SimpleNamespace(**methods)

    @contextmanager
    def call(self, *_limits: Any, **_options: Any) -> Iterator[Any]:
        with translate_errors():
            yield self._client


def refusal(act: Callable[[], Any]) -> str:
    """Returns the sentence of the error that this raises."""
    with pytest.raises(EngineError) as refused:
        act()
    return str(refused.value)


def raise_inside(error: Exception) -> str:
    def act() -> None:
        with translate_errors():
            raise error

    return refusal(act)


def answer_of_engine(status: int, text: str) -> Exception:
    answer: Any = SimpleNamespace(status_code=status)
    return docker.errors.APIError("x", answer, explanation=text)


def answer_of_gateway(text: str) -> str:
    line = json.dumps({"ok": False, "error": text}).encode() + b"\n"
    transport: Any = SimpleNamespace(exchange=lambda _line, within: line)
    return refusal(GatewayClient(transport).ping)


def taken_network(text: str) -> str:
    rows = [{"Name": text, "IPAM": {"Config": [{"Subnet": settings.BERTH_SWARM_SUBNET}]}}]
    connection: Any = Connection(networks=lambda: rows)
    return refusal(lambda: conflicts.require_own_addresses(connection))


def lines_of_build(*progress: dict[str, str]) -> str:
    class Answer(list[Any]):
        def close(self) -> None: ...

    connection: Any = Connection(build=lambda **_options: Answer(progress))
    context: Any = SimpleNamespace(image=GATEWAY.image, pack=lambda _wheels: b"", tagged_by_content=False)
    try:
        return " ".join(run_build.build_image(connection, context, run_build.Ingredients(base="b", labels={})))
    except EngineError as error:
        return str(error)


def pushed(text: str) -> str:
    return registry._read_error(json.dumps({"error": text}).encode())


def node(**described: str) -> str:
    found = read_node(NODE | {"Description": {"Hostname": described.get("name", "n"), "Engine": described}})
    return f"{found.name} {found.engine}"


def version_of_manager(text: str) -> str:
    connection: Any = Connection(info=lambda: {"ServerVersion": text})
    return read_version(connection)


COMES_IN: dict[str, Callable[[str], str]] = {
    "an engine's refusal": lambda text: raise_inside(answer_of_engine(400, text)),
    "an engine's failure": lambda text: raise_inside(answer_of_engine(500, text)),
    "what an engine cannot do": lambda text: raise_inside(docker.errors.InvalidVersion(text)),
    "a gateway's refusal": answer_of_gateway,
    "a network's name": taken_network,
    "a line of a build": lambda text: lines_of_build({"stream": text.replace("\n", "")}),
    "the error of a build": lambda text: lines_of_build({"error": text}),
    "a registry's refusal": pushed,
    "a node's name": lambda text: node(name=text),
    "the version of a node's engine": lambda text: node(EngineVersion=text),
    "the version of the manager's engine": version_of_manager,
    "the error of a task": lambda text: read_run(RUN | {"Status": RUN["Status"] | {"Err": text}}).error,
    "a model's name": name_model,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", COMES_IN)
def test_no_character_that_hides_something_comes_in(place: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_build, "inspect_image", lambda *_: None)
    try:
        found = COMES_IN[place](f"harb{KINDS[kind]}our")
    except UnicodeEncodeError:  # the whole answer is refused
        found = GARBLED
    assert "harb" in found or (kind.startswith("half") and found == GARBLED)
    assert found.isprintable(), ascii(found)
    assert not set(KINDS[kind]) - set("[]0;31mx") & set(found)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "NUL"])  # an engine's answer with one is refused
@pytest.mark.django_db
def test_the_labels_of_what_is_put_in_quarantine_stay_text(engine: MemoryEngine, kind: str) -> None:
    key = str(uuid4())
    labels = {**own_labels(), "berth.project": key, "berth.owner": f"harb{KINDS[kind]}our"}
    engine.foreign(container_name(key), labels=labels)
    assert put_in_quarantine(key, actor=SYSTEM)
    shown = Quarantined.objects.get().owner_key
    assert shown.isprintable()
    assert shown.startswith("harb")
    assert shown != "harbour"  # which could be another owner
