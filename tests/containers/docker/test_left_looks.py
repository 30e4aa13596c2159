"""Containers to look into images: one for agents that start together, and none left for long."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event
from typing import Any

import pytest

from containers.docker import image_verbs
from containers.docker_api import usable_images
from containers.docker_api.usable_images import UsableImage, UsableImages
from tests.containers.docker_under_test import DockerUnderTest
from tests.waiting import wait_until

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


@pytest.mark.parametrize("is_slow", [False, True])
def test_agents_that_start_together_share_one_look(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    """If the engine hangs, each thread looks by itself and fails by itself."""
    images, looks = UsableImages(docker_under_test.engine._connection), list[str]()
    together, ends = Barrier(4), Event()
    real = UsableImages._look_into

    def look_into(self: UsableImages, image: UsableImage) -> str:
        looks.append(image.image_id)
        if is_slow:
            ends.wait(60)
        return real(self, image)

    def require(_number: int) -> str:
        together.wait(60)
        return images.require(docker_under_test.image).image_id

    monkeypatch.setattr(UsableImages, "_look_into", look_into)
    monkeypatch.setattr(usable_images, "OTHER_LOOK_WITHIN", 0.05 if is_slow else 60.0)
    with ThreadPoolExecutor(4) as threads:
        found = [threads.submit(require, number) for number in range(4)]
        if is_slow:
            wait_until(lambda: len(looks) == 4, within=60)
        ends.set()
        assert len({each.result() for each in found}) == 1
    assert len(looks) == (4 if is_slow else 1)
