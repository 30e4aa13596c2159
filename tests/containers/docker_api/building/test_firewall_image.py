"""The image that sets firewall rules through the engine: built if Berth cannot set them itself."""

from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from uuid import uuid4

import docker
import pytest
from django.core.management import call_command

from containers.docker_api.building import image_build, wanted_images
from containers.docker_api.building.image_build import FIREWALL, BuildContext
from containers.management.commands import build_images
from tests.containers.docker_under_test import DockerUnderTest


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, docker_under_test: DockerUnderTest) -> Iterator[str]:
    """The name of the image, under which nobody else builds anything. There are no agent types."""
    folder = tmp_path / "firewall"
    folder.mkdir()
    (folder / "Dockerfile").write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n")
    context = BuildContext(folder=folder, name=f"trial-{uuid4().hex[:8]}")
    monkeypatch.setattr(image_build, "IMAGES", tmp_path / "none")
    for module in (build_images, wanted_images):
        monkeypatch.setattr(module, "FIREWALL", context)
    yield context.image
    with suppress(docker.errors.ImageNotFound):
        docker_under_test.client.remove_image(context.image, force=True)


def build(under_test: DockerUnderTest, *options: str) -> str:
    printed = StringIO()
    call_command("build_images", "--base-image", under_test.image, *options, stdout=printed, stderr=printed)
    return printed.getvalue()


def test_the_image_is_built_from_berth_s_own_file() -> None:
    assert FIREWALL.image == "berth/firewall:latest"
    assert "Dockerfile" in FIREWALL.files()


@pytest.mark.docker
@pytest.mark.parametrize("by_itself", [True, False])
def test_the_image_is_built_only_if_berth_needs_it(
    image: str, docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch, by_itself: bool
) -> None:
    monkeypatch.setattr(build_images, "is_local_engine", lambda: True)
    monkeypatch.setattr(build_images, "can_set_rules", lambda: by_itself)
    assert (f"{image} is built" in build(docker_under_test)) == (not by_itself)
    assert bool(docker_under_test.client.images(image)) == (not by_itself)
    name = image.removeprefix("berth/").removesuffix(":latest")
    assert f"{image} is {'built' if by_itself else 'up to date'}" in build(docker_under_test, name)


@pytest.mark.docker
def test_a_failed_build_is_reported_and_does_not_affect_agents(
    image: str, docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build_images, "can_set_rules", lambda: False)
    (tmp_path / "firewall" / "Dockerfile").write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN echo so && exit 7\n")
    printed = build(docker_under_test)
    assert "could not be built" in printed
    assert "Until it is built, Berth cannot set the agents' firewall rules." in printed
