"""Answers of an engine in which one field is missing or has a wrong type: Berth cannot read them, or reads the truth.

`tests/chaos/engine/test_wrong_fields.py` does the same to a real engine, from the API's point of view.
"""

from collections.abc import Callable
from typing import Any

import pytest

from containers.docker.observations import read_details, read_rows
from containers.errors import EngineUnavailableError
from containers.hardening import LIMITS_LABEL, NO_NEW_PRIVILEGES
from containers.vocabulary import Observation
from tests.containers.docker.scripted_engine import ID, LABELS, NAME
from tests.containers.wrong_fields import WRONG, Place, changed, is_meant, places_of

OWN_NETWORK = "berth-test-network"
ALL_LABELS = {**LABELS, LIMITS_LABEL: "67108864 1000000000 64"}
NETWORKS = {"Networks": {OWN_NETWORK: {"IPAMConfig": {"IPv4Address": "10.1.2.3"}, "NetworkID": "a" * 64}}}
LISTED = [
    {
        "Id": ID, "Names": [f"/{NAME}"], "Created": 1795875942, "Labels": ALL_LABELS, "State": "running",
        "Status": "Up 3 seconds (healthy)", "HostConfig": {"NetworkMode": OWN_NETWORK}, "NetworkSettings": NETWORKS,
    }
]  # fmt: skip
INSPECTED = {
    "Id": ID, "Name": f"/{NAME}", "Created": "2026-11-20T12:00:00.1Z", "Image": "sha256:" + "1" * 64, "RestartCount": 2,
    "Config": {"Labels": ALL_LABELS, "User": "10001:10001"},
    "State": {
        "Status": "running", "OOMKilled": False, "ExitCode": 0,
        "StartedAt": "2026-11-20T12:00:00.2Z", "FinishedAt": "0001-01-01T00:00:00Z",
        "Health": {
            "Status": "healthy",
            "Log": [{"Start": "2026-11-20T12:00:01Z", "End": "2026-11-20T12:00:02Z", "ExitCode": 0, "Output": "{}"}],
        },
    },
    "HostConfig": {
        "NetworkMode": OWN_NETWORK, "RestartPolicy": {"Name": "no"}, "Memory": 67108864, "MemorySwap": 67108864,
        "NanoCpus": 1000000000, "PidsLimit": 64, "Privileged": False, "ReadonlyRootfs": True, "PublishAllPorts": False,
        "SecurityOpt": [NO_NEW_PRIVILEGES], "CapAdd": None, "GroupAdd": None, "Devices": [], "DeviceRequests": None,
        "DeviceCgroupRules": None, "Binds": None, "VolumesFrom": None, "PortBindings": {}, "PidMode": "",
        "IpcMode": "private", "UTSMode": "", "UsernsMode": "",
        "Mounts": [{"Type": "volume", "Source": f"{NAME}-data", "Target": "/data"}],
    },
    "NetworkSettings": NETWORKS,
    "Mounts": [{"Type": "volume", "Name": f"{NAME}-data", "Destination": "/data"}],
}  # fmt: skip


def read_list(answer: Any) -> Observation | None:
    return next(iter(read_rows(answer)), None)


def read_inspection(answer: Any) -> Observation:
    return read_details(answer).observation


ANSWERS: list[tuple[Any, Callable[[Any], Observation | None]]] = [(LISTED, read_list), (INSPECTED, read_inspection)]


@pytest.fixture(autouse=True)
def policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("containers.docker.drift.wanted_policy", lambda: "no")


@pytest.mark.parametrize(("answer", "read"), ANSWERS, ids=["listed", "inspected"])
def test_a_field_that_is_missing_or_of_a_wrong_type_changes_nothing_that_is_read(
    answer: Any, read: Callable[[Any], Observation | None]
) -> None:
    """For example, `Privileged` as a text must not make a healthy agent look privileged,
    so that it is created again."""
    true, misread = read(answer), list[tuple[Place, str]]()
    assert true is not None
    assert not true.has_drifted
    cases = [(place, name) for place in places_of(answer) for name in WRONG]
    for place, name in [each for each in cases if not is_meant(answer, each[0], WRONG[each[1]])]:
        try:
            if read(changed(answer, place, WRONG[name])) != true:
                misread.append((place, name))
        except EngineUnavailableError:
            continue
    assert misread == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("Privileged", True), ("ReadonlyRootfs", False), ("SecurityOpt", None), ("CapAdd", ["ALL"]), ("PidMode", "host")],
)
def test_more_privileges_are_still_seen(name: str, value: object) -> None:
    assert read_inspection(changed(INSPECTED, ("HostConfig", name), value)).has_drifted
