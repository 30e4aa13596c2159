"""What is kept under a name outlives its container, and is told of, on every engine."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from containers.docker.containers import Containers
from containers.engine import INSTANCE_LABEL
from tests.containers.rigs import DockerRig, Rig, deploy


def test_what_is_kept_is_told_with_and_without_a_container(rig: Rig) -> None:
    within = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
    assert rig.name not in rig.engine.list_volumes(within)
    deploy(rig)
    since = rig.engine.list_volumes(within)[rig.name]
    assert abs(datetime.now(UTC) - since) < timedelta(minutes=1)
    rig.engine.remove(rig.name)
    assert rig.name in rig.engine.list_volumes(within)
    rig.engine.remove(rig.name, volumes=True)
    assert rig.name not in rig.engine.list_volumes(within)


@pytest.mark.docker
def test_a_container_that_is_made_anew_while_the_old_one_is_removed_goes_too(
    docker_rig: DockerRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a deploy does that has not yet noticed that it lost: its container holds on to the volumes."""
    deploy(docker_rig)
    remove = Containers.remove_found

    def meet(containers: Containers, *args: Any, **options: Any) -> None:
        remove(containers, *args, **options)
        monkeypatch.undo()
        deploy(docker_rig, generation=2)

    monkeypatch.setattr(Containers, "remove_found", meet)
    docker_rig.engine.remove(docker_rig.name, volumes=True)
    assert docker_rig.id_of(docker_rig.name) is None
    assert docker_rig.volumes(docker_rig.name) == set()
