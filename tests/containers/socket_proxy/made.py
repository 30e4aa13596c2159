"""The body of each kind of container that Berth creates, as Berth itself writes it."""

import json
from ipaddress import IPv4Network
from typing import Any

from containers.docker.gateway.payload import Way, gateway_payload, make_plan
from containers.docker.networks import rules_container
from containers.docker.trials import payloads as trials
from containers.docker.volumes.measuring import measuring_payload
from containers.engine.trials import TRIAL_LABEL
from containers.gateway.vocabulary import AgentsNetwork, GatewaySpec, Reach
from containers.hardening import container_payload
from containers.identity import helper_labels, network_name, own_labels
from containers.volume_containers import (
    CARRIER,
    HANDOVER_LABEL,
    carrier_payload,
    handover_payload,
    keeper_payload,
    look_payload,
)
from tests.containers.engine_fixtures import make_spec
from tests.containers.memory_under_test import MemoryUnderTest

OTHER = "f" * 64
PLACES = ("/dev/shm", "/home/agent", "/run", "/var/lib/x")
OF_IMAGE = f"berth-image{CARRIER}"


def make_bodies() -> dict[str, dict[str, Any]]:
    under_test = MemoryUnderTest()
    spec = make_spec(under_test)
    alone = make_spec(under_test, reach=Reach.GATEWAY)
    trial = make_spec(under_test, labels=helper_labels(TRIAL_LABEL))
    name, volume = spec.name, f"{spec.name}-data"
    agents = AgentsNetwork(subnet=IPv4Network("172.31.0.0/21"))
    plans = {
        way: make_plan(
            GatewaySpec(key="k" * 44), image_id=f"sha256:{OTHER}", network=agents, way=way, name_servers=["9.9.9.9"]
        )
        for way in Way
    }
    made = {
        "agent": container_payload(spec, network=network_name()),
        "agent whose credentials are known": container_payload(spec, network=network_name(), digest="d" * 64),
        "agent with a quota": container_payload(spec, network=network_name(), quota=1 << 30, name_servers=["9.9.9.9"]),
        "agent of the gateway alone": container_payload(alone, network=network_name(), restart_policy="no", quota=None),
        "handover": handover_payload(spec, 10_002, volume=volume),
        "keeper": keeper_payload(image="i", labels=own_labels(), state=volume, since="2026-11-20"),
        "carrier": carrier_payload(name, image="i", volume=volume, labels=spec.labels, size=1 << 30),
        "agent of an image with volumes": container_payload(spec, network=network_name(), places=PLACES),
        "looks into an image": look_payload(image="i", labels={HANDOVER_LABEL: OF_IMAGE}, places=PLACES),
        "measures": measuring_payload("true", [(volume, own_labels())] * 3, image="i"),
        "sets rules": rules_container._payload("true", network="host", image="berth/firewall:latest"),
        "reads resolvers": rules_container._payload("true", network="bridge", image="berth/firewall:latest"),
        "probe": rules_container._payload("true", network=network_name(), image="i"),
        "servers of a trial": trials.servers_payload(trial, image="i", token="t", key="k"),
        "agent of a trial": trials.agent_payload(trial, servers=OTHER),
        **{f"gateway by {way}": gateway_payload(plan) for way, plan in plans.items()},
    }
    return {kind: json.loads(json.dumps(body)) for kind, body in made.items()}


def changed(body: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Returns a copy with another value there."""
    first, _, rest = path.partition(".")
    return {**body, first: changed(body.get(first) or {}, rest, value) if rest else value}


def without(body: dict[str, Any], path: str) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    left = {name: value for name, value in body.items() if name != first}
    return {**left, first: without(body[first], rest)} if rest else left
