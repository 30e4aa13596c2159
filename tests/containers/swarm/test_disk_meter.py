"""On which node each memory is measured, and the results if that is not possible."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from containers.errors import EngineRefusedError
from containers.swarm.states.disk_meter import AT_ONCE
from containers.swarm.tasks.service_spec import HOME_LABEL, KEPT_ON_LABEL
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from tests.containers.swarm.manager import Manager
from tests.containers.swarm.measured import HERE, NOTHING, SOME, Meter, measured_swarm, service, task

pytestmark = pytest.mark.one_database


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    with measured_swarm(monkeypatch) as found:
        yield found


@pytest.mark.parametrize(
    ("tasks", "labels", "there"),
    [
        ([task("a", 1, "running", "n2")], {}, "n2"),
        ([task("a", 1, "complete", "n2"), task("a", 2, "shutdown", "n3")], {}, "n3"),
        ([task("a", 1, "running", "n2"), task("a", 2, "failed", "n3")], {}, "n2"),
        ([task("a", 1, "shutdown", "n2"), task("a", 2, "preparing", "n3", has_run=False)], {}, "n2"),
        ([task("a", 1, "running", HERE)], {}, HERE),
        ([], {KEPT_ON_LABEL: "n3"}, "n3"),
        ([], {HOME_LABEL: "n2"}, "n2"),
    ],
)
def test_a_memory_is_measured_where_its_agent_runs_or_ran_last(
    swarm: Manager, tasks: list[dict[str, Any]], labels: dict[str, str], there: str
) -> None:
    swarm.rows["tasks"] = tasks
    swarm.rows["services"] = [service("a", labels=labels)]
    # Of another agent, so that each node has an image.
    swarm.rows["services"].append(service("b"))
    swarm.rows["tasks"] = [*tasks, *(task("b", number, "shutdown", f"n{number}") for number in (1, 2, 3))]
    meter = Meter()
    assert meter.of("a") == {"a": SOME}
    assert meter.jobs.waves == [{there: ["a"]}]


def test_the_newest_of_two_services_of_an_agent_says_where_it_is(swarm: Manager) -> None:
    swarm.rows["services"] = [service("a", generation=2), service("a")]
    swarm.rows["tasks"] = [task("a", 1, "running", "n3"), task("a", 2, "running", "n2", generation=2)]
    meter = Meter()
    meter.of("a")
    assert meter.jobs.waves == [{"n2": ["a"]}]


def test_an_agent_that_never_ran_uses_nothing(swarm: Manager) -> None:
    swarm.rows["tasks"] = [task("a", 1, "pending", "", has_run=False)]
    meter = Meter()
    assert meter.of("a", "nobody") == {"a": NOTHING, "nobody": NOTHING}
    assert meter.jobs.waves == []


def test_a_volume_that_is_gone_from_our_own_node_uses_nothing_and_is_not_created_again(swarm: Manager) -> None:
    swarm.rows["services"] = [service("b")]
    swarm.rows["tasks"] = [task("b", 1, "shutdown", HERE)]
    meter = Meter()
    assert meter.of("b") == {"b": NOTHING}
    assert meter.jobs.waves == []


@pytest.mark.parametrize("change", [{"Status": {"State": "down"}}, {"Spec": {"Availability": "drain"}}, {}])
def test_what_is_on_an_absent_node_is_left_out_and_never_said_to_be_nothing(
    swarm: Manager, change: dict[str, Any]
) -> None:
    """In the last case only Berth does not reach the node."""
    swarm.rows["nodes"][1] |= change
    swarm.rows["services"] = [service("a"), service("b")]
    swarm.rows["tasks"] = [task("a", 1, "running", HERE), task("b", 1, "running", "n2")]
    assert Meter(lost=frozenset() if change else frozenset({"n2"})).of("a", "b") == {"a": SOME}


def test_a_memory_without_a_service_is_left_out_where_a_node_has_some_of_it(swarm: Manager) -> None:
    labels = {PROJECT_LABEL: "gone", KEPT_ON_LABEL: "n2", INSTANCE_LABEL: "berth"}
    swarm.rows["configs"] = [{"ID": "c", "Spec": {"Name": "c", "Labels": labels}}]
    swarm.rows["tasks"] = []
    assert Meter().of("gone") == {}


def test_nodes_count_at_the_same_time_some_volumes_at_once(swarm: Manager) -> None:
    keys = [f"k{number:02}" for number in range(AT_ONCE + 3)]
    swarm.rows["services"] = [service(key) for key in keys]
    swarm.rows["tasks"] = [task(key, 1, "running", "n2" if key < "k17" else "n3") for key in keys]
    meter = Meter()
    assert meter.of(*keys) == dict.fromkeys(keys, SOME)
    assert meter.jobs.waves == [{"n2": keys[:AT_ONCE], "n3": keys[17:]}, {"n2": keys[AT_ONCE:17]}]


def test_a_volume_with_which_no_job_starts_delays_no_other(swarm: Manager) -> None:
    swarm.rows["services"] = [service(key) for key in ("a", "b", "c")]
    swarm.rows["tasks"] = [task(key, 1, "running", "n2" if key != "c" else "n3") for key in ("a", "b", "c")]
    meter = Meter()
    meter.jobs.bad = {"b"}
    assert meter.of("a", "b", "c") == {"a": SOME, "c": SOME}
    assert meter.jobs.waves[1:] == [{"n2": ["a"]}, {"n2": ["b"]}]


def test_with_a_driver_of_volumes_the_storage_has_to_limit_them(swarm: Manager) -> None:
    with override_settings(BERTH_SWARM_VOLUME_DRIVER="local"), pytest.raises(EngineRefusedError, match="limit its"):
        Meter().of("a")
