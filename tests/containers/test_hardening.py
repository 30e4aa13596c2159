"""The one way in which containers are created, field by field."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from containers.gateway.vocabulary import Reach
from containers.hardening import SECCOMP_PROFILE, container_payload
from containers.vocabulary import ContainerSpec

SPEC = ContainerSpec(
    name="berth-1",
    image="berth/assistant:latest",
    labels={"berth.instance": "berth", "berth.project": "1"},
    generation=3,
    environment={"B": "2", "A": "1=1"},
    secrets={"telegram_bot_token": "canary-token"},
    memory=256 << 20,
    nano_cpus=250_000_000,
    pids=128,
    stop_timeout=20,
)
LABELS = {"berth.instance": "berth", "berth.project": "1", "berth.generation": "3", "berth.user": "10001"}
GOLDEN: dict[str, Any] = {
    "Image": "berth/assistant:latest",
    "User": "10001:10001",
    "Env": ["A=1=1", "B=2"],
    "Labels": {**LABELS, "berth.limits": f"{256 << 20} 250000000 128"},
    "StopSignal": "SIGTERM",
    "StopTimeout": 20,
    "Tty": False,
    "OpenStdin": False,
    "NetworkDisabled": False,
    "HostConfig": {
        "Privileged": False,
        "ReadonlyRootfs": True,
        "CapAdd": [],
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true", f"seccomp={SECCOMP_PROFILE}"],
        "IpcMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "UsernsMode": "",
        "Devices": [],
        "Binds": [],
        "PortBindings": {},
        "PublishAllPorts": False,
        "Tmpfs": {
            "/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777",
            "/run/agent": "rw,noexec,nosuid,nodev,size=1m,mode=0755,uid=10001,gid=10001",
        },
        "Memory": 268435456,
        "MemorySwap": 268435456,
        "NanoCpus": 250_000_000,
        "PidsLimit": 128,
        "OomKillDisable": False,
        "ShmSize": 16777216,
        "Ulimits": [
            {"Name": "core", "Soft": 1, "Hard": 1},
            {"Name": "memlock", "Soft": 65536, "Hard": 65536},
            {"Name": "msgqueue", "Soft": 819200, "Hard": 819200},
            {"Name": "nofile", "Soft": 1024, "Hard": 4096},
            {"Name": "sigpending", "Soft": 1024, "Hard": 1024},
        ],
        "LogConfig": {
            "Type": "local",
            "Config": {"max-size": "10m", "max-file": "3", "mode": "non-blocking", "max-buffer-size": "1m"},
        },
        "Init": True,
        "Mounts": [
            {
                "Type": "volume",
                "Source": "berth-1-data",
                "Target": "/data",
                "VolumeOptions": {"Labels": LABELS},
            },
            {
                "Type": "volume",
                "Source": "berth-1-secrets",
                "Target": "/run/secrets",
                "VolumeOptions": {"Labels": LABELS, "NoCopy": True},
            },
        ],
        "NetworkMode": "berth-agents",
        "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
    },
}
VARYING = {"Image", "Env", "Labels", "StopTimeout"}
VARYING_IN_HOST = {"Memory", "MemorySwap", "NanoCpus", "PidsLimit", "Mounts"}


def test_a_container_is_created_with_exactly_this_payload() -> None:
    assert container_payload(SPEC, network="berth-agents") == GOLDEN


def test_another_runtime_is_named_and_changes_nothing_else() -> None:
    payload = container_payload(SPEC, network="berth-agents", runtime="runsc")
    assert payload["HostConfig"].pop("Runtime") == "runsc"
    assert payload == GOLDEN


def test_chosen_name_servers_are_named_and_change_nothing_else() -> None:
    payload = container_payload(SPEC, network="berth-agents", name_servers=["9.9.9.9", "2620:fe::fe"])
    assert payload["HostConfig"].pop("Dns") == ["9.9.9.9", "2620:fe::fe"]
    assert payload == GOLDEN


def test_no_secret_is_in_the_payload_or_in_the_spec_as_text() -> None:
    assert "canary-token" not in str(container_payload(SPEC, network="n"))
    assert "canary-token" not in repr(SPEC)


def test_the_generation_of_the_spec_wins_over_a_label() -> None:
    spec = replace(SPEC, labels={**SPEC.labels, "berth.generation": "99"})
    assert container_payload(spec, network="berth-agents") == GOLDEN


TEXT = st.text(max_size=40)
SPECS = st.builds(
    ContainerSpec,
    name=TEXT,
    image=TEXT,
    labels=st.dictionaries(TEXT, TEXT, max_size=5),
    generation=st.integers(0, 10**6),
    environment=st.dictionaries(TEXT, TEXT, max_size=5),
    secrets=st.dictionaries(TEXT, TEXT, max_size=3),
    memory=st.integers(1, 2**40),
    nano_cpus=st.integers(1, 2**40),
    pids=st.integers(1, 4096),
    stop_timeout=st.integers(1, 60),
)


@settings(max_examples=200)
@given(spec=SPECS)
def test_for_any_spec_only_names_and_figures_differ(spec: ContainerSpec) -> None:
    payload = container_payload(spec, network="berth-agents")
    assert payload.keys() == GOLDEN.keys()
    for field in GOLDEN.keys() - VARYING - {"HostConfig"}:
        assert payload[field] == GOLDEN[field]
    host = payload["HostConfig"]
    assert host.keys() == GOLDEN["HostConfig"].keys()
    for field in GOLDEN["HostConfig"].keys() - VARYING_IN_HOST:
        assert host[field] == GOLDEN["HostConfig"][field]
    assert host["Memory"] == host["MemorySwap"] == spec.memory
    assert [(mount["Type"], mount["Source"], mount["Target"]) for mount in host["Mounts"]] == [
        ("volume", f"{spec.name}-data", "/data"),
        ("volume", f"{spec.name}-secrets", "/run/secrets"),
    ]


@pytest.mark.parametrize(
    ("item", "holds"),
    [
        ("5.4 no extra capabilities", lambda c: c["CapDrop"] == ["ALL"] and not c["CapAdd"]),
        ("5.5 not privileged", lambda c: c["Privileged"] is False),
        ("5.6 no host directories", lambda c: not c["Binds"] and all(m["Type"] == "volume" for m in c["Mounts"])),
        ("5.8 no ports", lambda c: not c["PortBindings"] and c["PublishAllPorts"] is False),
        ("5.10 not the host's network", lambda c: c["NetworkMode"] not in {"host", "bridge", "default"}),
        ("5.11 memory is limited", lambda c: 0 < c["Memory"] == c["MemorySwap"]),
        ("5.12 processor is limited", lambda c: c["NanoCpus"] > 0),
        ("5.13 root file system is read-only", lambda c: c["ReadonlyRootfs"] is True),
        ("5.16 not the host's processes", lambda c: c["PidMode"] == ""),
        ("5.17 not the host's IPC", lambda c: c["IpcMode"] == "private"),
        ("5.18 no devices", lambda c: c["Devices"] == []),
        ("5.19 ulimits are set", lambda c: {u["Name"] for u in c["Ulimits"]} >= {"core", "nofile", "sigpending"}),
        ("5.21 not the host's UTS", lambda c: c["UTSMode"] == ""),
        ("5.22 seccomp stays on", lambda c: "seccomp=unconfined" not in c["SecurityOpt"]),
        ("5.26 no new privileges", lambda c: "no-new-privileges:true" in c["SecurityOpt"]),
        ("5.29 processes are limited", lambda c: 0 < c["PidsLimit"] <= 128),
        ("5.31 not the host's users", lambda c: c["UsernsMode"] == ""),
        ("5.32 no engine socket", lambda c: "docker.sock" not in str(c)),
    ],
)
def test_the_payload_passes_the_cis_benchmark(item: str, holds: Any) -> None:
    assert holds(container_payload(SPEC, network="berth-agents")["HostConfig"]), item


def test_an_agent_s_fixed_address_is_on_its_network_and_in_its_labels() -> None:
    spec = replace(SPEC, address="172.30.128.9")
    payload = container_payload(spec, network="berth-agents-gateway")
    endpoint = {"berth-agents-gateway": {"IPAMConfig": {"IPv4Address": "172.30.128.9"}}}
    assert payload.pop("NetworkingConfig") == {"EndpointsConfig": endpoint}
    assert payload["Labels"].pop("berth.address") == "172.30.128.9"
    plain = container_payload(SPEC, network="berth-agents-gateway")
    plain["HostConfig"]["Mounts"] = payload["HostConfig"]["Mounts"]  # volumes have the same labels
    assert payload == plain


def test_an_agent_confined_to_the_gateway_never_has_a_name_server() -> None:
    spec = replace(SPEC, address="172.30.64.9", reach=Reach.GATEWAY)
    host = container_payload(spec, network="n", name_servers=["9.9.9.9"])["HostConfig"]
    assert host["Dns"] == ["127.0.0.1"]
    assert host["DnsOptions"] == ["timeout:1", "attempts:1"]
