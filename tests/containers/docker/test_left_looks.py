"""A process that is killed while it looks into an image leaves a container, which the clean-up of images removes."""

from datetime import timedelta
from typing import Any

import pytest

from containers.docker import image_verbs
from containers.docker_api import usable_images
from containers.docker_api.usable_images import UsableImages
from tests.containers.docker_under_test import DockerUnderTest

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.django_db]


def test_a_look_that_was_left_behind_is_removed_with_unused_images(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, client = docker_under_test.engine, docker_under_test.client
    with monkeypatch.context() as killed:
        killed.setattr(UsableImages, "_remove", lambda self, container_id: None)
        UsableImages(engine._connection).require(docker_under_test.image)  # one that has not looked into it before
    chosen: dict[str, Any] = {"label": [f"{name}={value}" for name, value in usable_images.look_labels().items()]}
    assert len(client.containers(all=True, filters=chosen)) == 1
    monkeypatch.setattr(image_verbs, "remove_unused", lambda connection, keep: 0)
    engine.remove_unused_images(keep=())
    assert len(client.containers(all=True, filters=chosen)) == 1  # perhaps its process still looks
    monkeypatch.setattr(usable_images, "LEFT_BEHIND", timedelta(seconds=-1))
    engine.remove_unused_images(keep=())
    assert client.containers(all=True, filters=chosen) == []
