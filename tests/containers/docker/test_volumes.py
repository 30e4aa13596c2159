"""Volumes on a real Docker: those of others stay untouched, and none of ours is left behind."""

from typing import Any

import pytest

from containers.docker.containers import Containers
from containers.errors import EngineRefusedError
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

pytestmark = pytest.mark.docker


def test_a_foreign_volume_is_neither_used_nor_removed(docker_under_test: DockerUnderTest) -> None:
    volume = f"{docker_under_test.name}-data"
    docker_under_test.client.create_volume(volume)
    with pytest.raises(EngineRefusedError, match="not ours"):
        deploy(docker_under_test)
    with pytest.raises(EngineRefusedError, match="not ours"):
        docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    assert docker_under_test.volumes(docker_under_test.name) == {volume}
    assert docker_under_test.id_of(docker_under_test.name) is None


def test_a_container_recreated_during_a_removal_is_removed_too(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a deploy that has not noticed yet that it lost: its container keeps the volumes in use."""
    deploy(docker_under_test)
    remove = Containers.remove_found

    def meet(containers: Containers, *args: Any, **options: Any) -> None:
        remove(containers, *args, **options)
        monkeypatch.undo()
        deploy(docker_under_test, generation=2)

    monkeypatch.setattr(Containers, "remove_found", meet)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    assert docker_under_test.id_of(docker_under_test.name) is None
    assert docker_under_test.volumes(docker_under_test.name) == set()
