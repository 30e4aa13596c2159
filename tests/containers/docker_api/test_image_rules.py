"""What an image may declare, without an engine."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.agent_contract import DATA_PATH, SECRETS_PATH
from containers.docker_api.image_rules import (
    LARGEST_CONFIG,
    LONGEST_LISTED,
    OWN_PLACES,
    find_fault,
    places_to_look_at,
    read_volumes,
)
from containers.hardening import confinement
from containers.socket_proxy.fields import CONFINED
from containers.swarm.tasks.service_spec import in_memory_at

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"Volumes": None, "ExposedPorts": None, "Labels": None, "Entrypoint": None, "Cmd": None},
        {"Volumes": {"/data": {}, "/data/": {}, "/tmp": {}, "/home/agent": {}, "/var//lib/x/": {}}},
        {"ExposedPorts": {f"{port}/tcp": {} for port in range(100)}},
        {"Labels": {"a": "x" * (LONGEST_LISTED - 100)}},
        {"Healthcheck": {"Interval": 10**8, "StartInterval": 10**8, "Timeout": 10**6, "Retries": 1}},
        {"Healthcheck": {"Test": ["NONE"], "Interval": 0, "StartInterval": None}},
        {"Env": ["LD_PRELOAD=/x", "A" * 100_000], "Healthcheck": {"Interval": 3600 * 10**9}, "OnBuild": ["RUN x"]},
    ],
)
def test_what_harms_nobody_is_no_fault(config: dict[str, Any]) -> None:
    assert find_fault(config) == ""


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"ExposedPorts": {f"{port}/tcp": {} for port in range(101)}}, "101 ports"),
        ({"Volumes": {f"/v/{number}": {} for number in range(9)}}, "9 volumes"),
        ({"Labels": {"a": "x" * LONGEST_LISTED}}, "labels and command"),
        ({"Env": ["x" * LARGEST_CONFIG]}, "configuration takes 256 KB"),
        *[({"Healthcheck": {name: 3601 * 10**9}}, "health check") for name in ("Interval", "Timeout", "StartPeriod")],
        *[
            ({"Healthcheck": {name: span}}, "interval of less than 100 ms")
            for name in ("Interval", "StartInterval")
            for span in (-(10**9), 1, 10**6, 10**8 - 1)
        ],
        ({"Cmd": ["x" * LONGEST_LISTED]}, "labels and command"),
        ({"Entrypoint": ["x" * LONGEST_LISTED]}, "labels and command"),
        *[
            ({"Volumes": {path: {}}}, "Remove this VOLUME")
            for path in (
                "/",
                "data",
                "",
                ".",
                "/data/x",
                "/run/secrets/x",
                "/proc/1",
                "/etc",
                "/usr/bin",
                "/a:b",
                "/\n",
            )
        ],
    ],
)
def test_each_fault_is_a_sentence_that_says_what_to_change(config: dict[str, Any], said: str) -> None:
    fault = find_fault(config)
    assert said in fault
    assert fault.endswith(".")
    assert "\n" not in fault


PATHS = st.lists(
    st.sampled_from(["", ".", "..", "data", "tmp", "run", "secrets", "agent", "home", "etc", "x"]), max_size=6
)


@given(st.lists(PATHS, max_size=6))
def test_what_is_not_refused_is_mounted_by_every_engine_and_hides_no_memory(paths: list[list[str]]) -> None:
    config: dict[str, Any] = {"Volumes": {f"/{'/'.join(parts)}": {} for parts in paths}}
    if find_fault(config):
        return
    volumes = read_volumes(config)
    places = [path for path in volumes if path not in OWN_PLACES]
    for path in places:
        assert path.startswith("/")
        assert ".." not in path.split("/")
        assert not f"{path}/".startswith((f"{DATA_PATH}/", f"{SECRETS_PATH}/"))
    tmpfs = confinement(1000, places=places)["Tmpfs"]
    assert CONFINED["Tmpfs"](tmpfs) is None, "The socket proxy lets it through."
    assert tmpfs.keys() >= set(places)
    assert [mount["Target"] for mount in in_memory_at(places)] == places
    looked_at = places_to_look_at(volumes)
    assert {DATA_PATH, "/run", *volumes} <= set(looked_at)
    assert all(path.rpartition("/")[0] in {"", *looked_at} for path in looked_at)
