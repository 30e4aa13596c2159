"""On a real Swarm of one node: if the process that copies a memory is killed, the copy blocks nobody."""

from collections.abc import Callable
from typing import Any

import pytest

from containers.docker_api.client import DockerClient
from containers.hardening import COPY
from containers.identity import helper_labels, own_labels
from containers.swarm.states import copy_jobs
from containers.swarm.states.copy_programs import LABEL
from containers.swarm.tasks.job_containers import MEASURES
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL
from containers.vocabulary import PROJECT_LABEL
from tests.containers.engine_fixtures import deploy
from tests.containers.inside import run_inside
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.fakes.states import unpack_state

pytestmark = [pytest.mark.docker, pytest.mark.one_database]

KEPT = {"memory": "what it knows"}


class Killed(BaseException):
    """Stands for the end of the process."""


Act = Callable[[SwarmUnderTest], object]


def keep(under_test: SwarmUnderTest) -> None:
    labels = {**own_labels(), PROJECT_LABEL: under_test.key}
    under_test.engine.keep_copy(under_test.key, image=under_test.image, labels=labels)


def give_back(under_test: SwarmUnderTest) -> None:
    assert under_test.engine.return_copy(under_test.key, image=under_test.image)


def drop(under_test: SwarmUnderTest) -> None:
    under_test.engine.drop_copy(under_test.key)


@pytest.fixture
def kept(swarm_under_test: SwarmUnderTest) -> SwarmUnderTest:
    """A stopped agent with something in its memory."""
    deploy(swarm_under_test, user=20010)
    say(swarm_under_test, "what it knows")
    swarm_under_test.engine.stop(swarm_under_test.key, timeout=2)
    return swarm_under_test


def say(under_test: SwarmUnderTest, text: str) -> None:
    container = under_test.container_of(under_test.name)
    code, output = run_inside(under_test.client, container, "sh", "-c", f"printf '{text}' >/data/memory")
    assert code == 0, output


def jobs(under_test: SwarmUnderTest) -> list[Any]:
    return list(under_test.client.services(filters={"label": LABEL}))


def kill_after(under_test: SwarmUnderTest, act: Act, call: str) -> None:
    """Kills the process when the Swarm has carried out this call, so that nothing after it happens."""
    real = getattr(DockerClient, call)

    def kill(*args: Any, **options: Any) -> Any:
        real(*args, **options)
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DockerClient, call, kill)
        patch.setattr(copy_jobs, "remove_job", lambda *_: None)
        with pytest.raises(Killed):
            act(under_test)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("act", "call"),
    [
        (keep, "create_config"),
        (keep, "create_service_from"),
        (keep, "tasks"),
        (give_back, "create_service_from"),
        (give_back, "tasks"),
        (drop, "remove_config"),
        (drop, "remove_volume"),
    ],
)
def test_what_a_killed_process_began_is_repeated_and_then_removed(kept: SwarmUnderTest, act: Act, call: str) -> None:
    if act is not keep:
        keep(kept)
    if act is give_back:
        deploy(kept, user=20010, generation=2)
        say(kept, "what a new image has made of it")
        kept.engine.stop(kept.key, timeout=2)
        kept.engine.remove(kept.key)
    kill_after(kept, act, call)
    act(kept)
    assert unpack_state(kept.kept()) == KEPT
    assert f"{kept.name}{COPY}" in kept.volumes(kept.name) or act is drop
    drop(kept)
    deploy(kept, user=20010, generation=3)
    assert unpack_state(kept.kept()) == KEPT
    assert (jobs(kept), f"{kept.name}{COPY}" in kept.volumes(kept.name)) == ([], False)
    kept.engine.remove(kept.key, volumes=True)
    assert (kept.volumes(kept.name), kept.client.configs()) == (set(), [])


def test_an_agent_is_removed_with_the_copy_and_the_job_of_a_killed_process(kept: SwarmUnderTest) -> None:
    kill_after(kept, keep, "create_service_from")
    kept.engine.remove(kept.key, volumes=True)
    assert (jobs(kept), kept.volumes(kept.name), kept.client.configs()) == ([], set(), [])


@pytest.mark.parametrize("label", [LABEL, MEASURES])
def test_a_job_container_that_its_node_creates_late_does_not_keep_the_memory(
    kept: SwarmUnderTest, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    """As of a job that is removed before its container is made, on a busy node."""
    real, labels = DockerClient.remove_volume, helper_labels(label)
    mounts = {"Mounts": [{"Type": "volume", "Source": f"{kept.name}-data", "Target": "/state"}]}
    late: list[str] = []

    def create_first(client: DockerClient, volume: str) -> None:
        if not late:
            made = kept.client.create_container(kept.image, labels=labels, host_config=mounts)
            late.append(made["Id"])
        real(client, volume)

    monkeypatch.setattr(DockerClient, "remove_volume", create_first)
    kept.engine.remove(kept.key, volumes=True)
    assert kept.volumes(kept.name) == set()
    assert not kept.client.containers(all=True, filters={"id": late})


def test_an_agent_keeps_running_when_its_copy_is_dropped_and_may_run_anywhere_again(kept: SwarmUnderTest) -> None:
    keep(kept)
    made = deploy(kept, user=20010, generation=2)
    here = kept.client.info()["Swarm"]["NodeID"]
    container = kept.container_of(kept.name)
    assert constraints(kept) == [f"node.id == {here}"]
    drop(kept)
    assert constraints(kept) == []
    seen = kept.engine.inspect(kept.key)
    assert seen is not None
    assert (seen.container_id, seen.started_at) == (made.container_id, made.started_at)
    assert kept.container_of(kept.name) == container
    assert COPIED_ON_LABEL not in kept.client.inspect_service(kept.name)["Spec"]["Labels"]


def constraints(under_test: SwarmUnderTest) -> list[str]:
    template = under_test.client.inspect_service(under_test.name)["Spec"]["TaskTemplate"]
    return list((template.get("Placement") or {}).get("Constraints") or [])


@pytest.mark.rare(1)
def test_modes_owners_and_links_come_back(kept: SwarmUnderTest) -> None:
    make = "cd /data && mkdir -m 700 a && echo x >a/b && chmod 000 a/b && chmod 500 a && ln -s /etc/passwd c"
    show = "cd /data && stat -c '%n %a %u %g' memory a . && stat -c '%N' c && chmod 700 a && stat -c '%n %a %u %Y' a/b"
    told: list[str] = []
    deploy(kept, user=20010)
    _run(kept, make)
    kept.engine.stop(kept.key, timeout=2)
    keep(kept)
    for generation in (2, 3):
        deploy(kept, user=20010, generation=generation)
        told.append(_run(kept, show))
        _run(kept, "rm -rf /data/* && echo spoiled >/data/memory && chmod 777 /data/memory")
        kept.engine.stop(kept.key, timeout=2)
        kept.engine.remove(kept.key)
        give_back(kept)
    assert told[0] == told[1]
    assert "a/b 0 20010" in told[0]


def _run(under_test: SwarmUnderTest, script: str) -> str:
    container = under_test.container_of(under_test.name)
    code, output = run_inside(under_test.client, container, "sh", "-c", script)
    assert code == 0, output
    return output
