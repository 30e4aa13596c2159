"""A container may be created as Berth creates it, and in no way that gives it more of its host."""

from functools import cache
from typing import Any

import pytest

from containers.hardening import SECCOMP_FILE
from containers.socket_proxy.constants import Scope
from containers.socket_proxy.containers import ContainerShapes
from tests.containers.socket_proxy.hostile import HOSTILE
from tests.containers.socket_proxy.made import changed, make_bodies, without

pytestmark = pytest.mark.one_database

KINDS = sorted(make_bodies())
CASES = [(path, value) for path, values in HOSTILE.items() for value in values]


@cache
def shapes() -> ContainerShapes:
    return ContainerShapes(Scope(), SECCOMP_FILE.read_text())


def is_made(body: object) -> bool:
    return shapes().check(body) is None


@pytest.mark.every_case
@pytest.mark.parametrize("kind", KINDS)
def test_bodies_of_berth_pass(kind: str) -> None:
    assert shapes().check(make_bodies()[kind]) is None


def test_every_field_has_its_hostile_values() -> None:
    """Each field that Berth itself sends is in the table, except those that describe the agent."""
    bodies = make_bodies().values()
    sent = {f"HostConfig.{name}" for body in bodies for name in body["HostConfig"]} | {
        name for body in bodies for name in body
    }
    harmless = {"Cmd", "Entrypoint", "Env", "ExposedPorts", "StopTimeout", "NetworkDisabled"}
    assert sent - HOSTILE.keys() == harmless | {
        f"HostConfig.{name}" for name in ("AutoRemove", "DnsOptions", "Init", "NanoCpus", "ReadonlyRootfs")
    }


@pytest.mark.every_case
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_is_made_with_a_hostile_value(kind: str) -> None:
    body = make_bodies()[kind]
    made = [
        (path, value) for path, value in CASES if is_made(changed(body, path, value)) and not is_same(body, path, value)
    ]
    made = [(path, value) for path, value in made if (path, value) != ("HostConfig.MemorySwap", -1)]
    assert made == []


def is_same(body: Any, path: str, value: object) -> bool:
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return bool(body == value) and type(body) is type(value)


@pytest.mark.every_case
@pytest.mark.parametrize("kind", KINDS)
def test_no_container_passes_with_missing_or_weaker_confinement(kind: str) -> None:
    body = make_bodies()[kind]
    needed = ["User", "Labels", "Image", "HostConfig"] + [
        f"HostConfig.{name}" for name in ("CapDrop", "SecurityOpt", "NetworkMode", "ReadonlyRootfs")
    ]
    if kind not in {"keeper", "carrier", "looks into an image"}:  # which never start
        needed += [f"HostConfig.{name}" for name in ("Memory", "MemorySwap", "PidsLimit")]
    assert [path for path in needed if is_made(without(body, path))] == []
    if kind not in {"handover", "carrier", "looks into an image"}:
        assert not is_made(changed(body, "HostConfig.ReadonlyRootfs", False))


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_in_other_letters_is_another_field(kind: str) -> None:
    """The engine reads `privileged` as `Privileged`, and of two it uses the last."""
    body = make_bodies()[kind]
    for name in list(body["HostConfig"]):
        assert not is_made(changed(body, f"HostConfig.{name.lower()}", body["HostConfig"][name]))
    assert not is_made({**body, "hostconfig": {"Privileged": True}})


def test_a_privilege_of_one_kind_is_refused_for_all_others() -> None:
    bodies = make_bodies()
    for path, of in {
        "HostConfig.CapAdd": ("sets rules", "handover", "measures"),
        "HostConfig.NetworkMode": ("sets rules",),
        "User": ("sets rules", "handover", "measures"),
        "HostConfig.PortBindings": ("gateway by port",),
        "HostConfig.Sysctls": ("gateway by port",),
    }.items():
        for source in of:
            name = path.rpartition(".")[2]
            value = bodies[source]["HostConfig"].get(name, bodies[source].get(name))
            others = [kind for kind in KINDS if kind != source and is_made(changed(bodies[kind], path, value))]
            assert [kind for kind in others if not is_same(bodies[kind], path, value)] in ([], ["gateway by passage"])


@pytest.mark.parametrize("kind", ["sets rules", "reads resolvers"])
def test_only_berth_s_own_image_may_use_the_host_s_network(kind: str) -> None:
    for image in ("berth/firewall", "berth/firewall:other", "alpine", "evil/berth/firewall:latest"):
        assert not is_made({**make_bodies()[kind], "Image": image})


@pytest.mark.parametrize("body", [None, [], "x", 1, True, {}, {"Labels": []}, {"Labels": {"berth.instance": "berth"}}])
def test_a_body_that_is_no_container_is_refused(body: object) -> None:
    assert not is_made(body)
