"""Images that have the labels of Berth, on a real engine."""

from typing import Any

import pytest
from django.conf import settings

from containers.docker.gateway.payload import MADE_LABEL, WAY_LABEL
from containers.docker.helpers import find_helpers
from containers.docker.networks import rules_container
from containers.docker.trials.payloads import agent_payload
from containers.docker.volumes import measuring
from containers.docker.volumes.users import Users
from containers.docker_api.client import Connection
from containers.engine.trials import TRIAL_LABEL
from containers.identity import (
    NO_LABELS,
    helper_labels,
    own_labels,
)
from containers.swarm.tasks.job_containers import COPIES, MEASURES, remove_job_containers
from containers.vocabulary import INSTALLATION_LABEL, INSTANCE_LABEL, PROJECT_LABEL, QUARANTINE_LABEL
from tests.busybox import pack_root
from tests.containers.docker.test_labels_of_images import KNOWN
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy, make_spec

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

TALK = "#!/bin/sh\necho called >>/data/loot\nwhile read -r line; do echo '{}'; done\n"


@pytest.mark.docker
def test_an_image_with_every_label_is_an_agent_and_nothing_else(
    docker_under_test: DockerUnderTest, image_with: Any
) -> None:
    engine, connection = docker_under_test.engine, Connection()
    values = {**dict.fromkeys(KNOWN, settings.BERTH_INSTANCE), **own_labels(), PROJECT_LABEL: "another"}
    values |= {MADE_LABEL: "1" * 64, WAY_LABEL: "sideways"}
    root = pack_root({"agent": "#!/bin/sh\nexec sleep 1000\n", "talk": TALK}, applets=["sh", "sleep", "find", "chmod"])
    image = image_with(root, 'CMD ["/agent"]', "ENV PATH=/bin", *(f"LABEL {k}={v}" for k, v in values.items()))
    seen = deploy(docker_under_test, image=image)
    assert seen.key == docker_under_test.key
    assert not {*seen.labels} & (NO_LABELS.keys() - {*make_spec(docker_under_test).labels} - {
        "berth.generation", "berth.user", "berth.limits",
    })  # fmt: skip
    assert QUARANTINE_LABEL not in seen.labels
    assert engine.inspect_gateway() is None
    assert not [kind for kind in (measuring.LABEL, rules_container.LABEL, TRIAL_LABEL, COPIES, MEASURES)
                if find_helpers(connection, kind)]  # fmt: skip
    remove_job_containers(connection, f"{docker_under_test.name}-data")
    assert docker_under_test.is_running(docker_under_test.name)
    assert [each.key for each in engine.observe({INSTANCE_LABEL: settings.BERTH_INSTANCE})] == [docker_under_test.key]


@pytest.mark.docker
def test_a_trial_of_a_running_agent_s_image_is_not_that_agent(docker_under_test: DockerUnderTest) -> None:
    engine, client = docker_under_test.engine, docker_under_test.client
    before = deploy(docker_under_test)
    repository, tag = f"berth-test/{docker_under_test.name}", "committed"
    client.commit(docker_under_test.name, repository=repository, tag=tag)
    spec = make_spec(docker_under_test, image=f"{repository}:{tag}", labels=helper_labels(TRIAL_LABEL), secrets={})
    with Connection().call() as mine:
        trial = mine.create_container_from_config(agent_payload(spec, servers=before.container_id), None)["Id"]
    try:
        assert {PROJECT_LABEL: "", INSTANCE_LABEL: ""}.items() <= client.inspect_container(trial)["Config"][
            "Labels"
        ].items()
        assert (
            client.inspect_container(trial)["Config"]["Labels"][INSTALLATION_LABEL] == own_labels()[INSTALLATION_LABEL]
        )
        found = engine.inspect(docker_under_test.key)
        assert found
        assert found.container_id == before.container_id
        assert len(engine.observe({INSTANCE_LABEL: settings.BERTH_INSTANCE})) == 1
        assert Users(Connection(), engine._lookup).highest([]) == before_user(docker_under_test)
    finally:
        client.remove_container(trial, force=True, v=True)
        client.remove_image(f"{repository}:{tag}", force=True)


def before_user(under_test: DockerUnderTest) -> int:
    return int(under_test.client.inspect_container(under_test.name)["Config"]["User"].partition(":")[0])
