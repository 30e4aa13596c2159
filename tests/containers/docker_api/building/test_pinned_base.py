"""Agent images stay on the base on which they were built, no matter what its name means later,
until staff say otherwise."""

import io
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import docker
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from containers.docker_api.building import base_image, image_build
from containers.docker_api.building.image_build import BASE_DIGEST_LABEL, BASE_NAME_LABEL
from containers.management.commands import build_images
from tests.containers.docker_under_test import DockerUnderTest
from tests.fakes.registry import FakeRegistry

DOCKERFILE = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY greeting /\n"


class Trial:
    """A single agent type with a name that nobody else builds, and the repository of its base."""

    def __init__(self, folder: Path, client: Any) -> None:
        self.client = client
        self.folder = folder / f"trial-{uuid4().hex[:10]}"
        self.folder.mkdir()
        (self.folder / "Dockerfile").write_text(DOCKERFILE)
        self.change("hello")
        self.image = f"berth/{self.folder.name}:latest"
        self.local = f"berth-test/{self.folder.name}:base"

    def change(self, greeting: str) -> None:
        (self.folder / "greeting").write_text(greeting)

    def build(self, *options: str) -> str:
        printed = StringIO()
        call_command("build_images", *options, stdout=printed, stderr=printed)
        return printed.getvalue()

    def labels(self) -> dict[str, str]:
        found: dict[str, str] = self.client.inspect_image(self.image)["Config"]["Labels"]
        return found

    def first_layer(self, image: str) -> str:
        return str(self.client.inspect_image(image)["RootFS"]["Layers"][0])

    def push(self, registry: FakeRegistry, content: str) -> str:
        """Pushes what nobody else pushes: an engine stores equal images once, and removes them for all."""
        return registry.push(self.folder.name, "stable", f"{content} of {self.folder.name}")

    def load(self, content: str) -> str:
        """Gives the local name to another image. Returns its id."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            entry = tarfile.TarInfo(f"{content}-{self.folder.name}")
            archive.addfile(entry)
        repository, _, tag = self.local.rpartition(":")
        self.client.import_image_from_data(buffer.getvalue(), repository=repository, tag=tag)
        return str(self.client.inspect_image(self.local)["Id"])


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, docker_under_test: DockerUnderTest) -> Iterator[Trial]:
    client = docker_under_test.client
    before = {image["Id"] for image in client.images(all=True)}
    trial = Trial(tmp_path, client)
    monkeypatch.setattr(image_build, "IMAGES", tmp_path)
    monkeypatch.setattr(build_images, "is_local_engine", lambda: True)
    monkeypatch.setattr(build_images, "can_set_rules", lambda: True)
    monkeypatch.setattr(base_image, "OFFICIAL", trial.local)
    monkeypatch.setattr(base_image, "DEBIAN_BASE", f"{trial.local}-of-debian")
    yield trial
    mine = (trial.folder.name, base_image.OFFICIAL.rpartition(":")[0])
    for image in client.images():
        names = [*(image["RepoTags"] or []), *(image["RepoDigests"] or [])]
        if image["Id"] not in before and any(part in name for name in names for part in mine):
            with suppress(docker.errors.APIError):
                client.remove_image(image["Id"], force=True)


@pytest.fixture
def registry(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    with FakeRegistry() as registry:
        monkeypatch.setattr(base_image, "OFFICIAL", f"{registry.name(trial.folder.name)}:stable")
        yield registry


@pytest.mark.docker
def test_a_moved_tag_changes_nothing_until_an_operator_decides(trial: Trial, registry: FakeRegistry) -> None:
    client = trial.client
    first = trial.push(registry, "first")
    assert "is built" in trial.build()
    assert trial.labels()[BASE_DIGEST_LABEL] == first
    assert trial.labels()[BASE_NAME_LABEL] == base_image.OFFICIAL
    old_layer = trial.first_layer(trial.image)

    second = trial.push(registry, "second")
    client.pull(*base_image.OFFICIAL.rsplit(":", 1))
    assert trial.first_layer(base_image.OFFICIAL) != old_layer
    assert "is up to date" in trial.build()
    trial.change("good evening")
    assert f"@{first}" in trial.build()
    assert (trial.labels()[BASE_DIGEST_LABEL], trial.first_layer(trial.image)) == (first, old_layer)

    assert f"@{second}" in trial.build("--update-base")
    assert trial.labels()[BASE_DIGEST_LABEL] == second
    assert trial.first_layer(trial.image) == trial.first_layer(base_image.OFFICIAL)


@pytest.mark.docker
def test_a_missing_base_is_pulled_by_digest_or_reported(trial: Trial, registry: FakeRegistry) -> None:
    first = trial.push(registry, "first")
    trial.build()
    trial.push(registry, "second")
    trial.client.pull(*base_image.OFFICIAL.rsplit(":", 1))
    gone = f"{base_image.OFFICIAL.rpartition(':')[0]}@{first}"
    trial.client.remove_image(gone)
    trial.change("good evening")
    with pytest.raises(CommandError, match=r"neither on the engine nor .* --update-base"):
        trial.build("--no-pull")
    registry.stop()
    with pytest.raises(CommandError, match="--update-base"):
        trial.build()
    trial.change("hello")
    assert "is up to date" in trial.build()
    registry.start()
    trial.change("good evening")
    assert f"{trial.image} is built" in trial.build()
    assert trial.labels()[BASE_DIGEST_LABEL] == first


@pytest.mark.docker
def test_an_image_without_a_registry_is_pinned_by_its_id(trial: Trial, docker_under_test: DockerUnderTest) -> None:
    first = trial.load("first")
    trial.build()
    assert trial.labels()[BASE_DIGEST_LABEL] == first
    second = trial.load("second")
    trial.change("good evening")
    assert "is built" in trial.build()
    assert trial.labels()[BASE_DIGEST_LABEL] == first
    found = docker_under_test.engine.describe_image(trial.image)
    assert found
    assert found.base == f"{trial.local}@{first}"
    assert "is built" in trial.build("--update-base", "--no-pull")
    assert trial.labels()[BASE_DIGEST_LABEL] == second


@pytest.mark.docker
def test_a_new_type_begins_with_the_base_of_the_others(trial: Trial, tmp_path: Path) -> None:
    first = trial.load("first")
    trial.build()
    trial.load("second")
    other = Trial(tmp_path, trial.client)
    try:
        assert f"{other.image} is built" in trial.build()
        assert other.labels()[BASE_DIGEST_LABEL] == first
    finally:
        trial.client.remove_image(other.image, force=True)


@pytest.mark.docker
def test_a_base_fixed_in_a_dockerfile_is_reported_and_not_recorded(trial: Trial) -> None:
    trial.load("first")
    (trial.folder / "Dockerfile").write_text(f"FROM {trial.local}\nCOPY greeting /\n")
    assert f"Nothing fixes {trial.local}" in trial.build()
    assert BASE_DIGEST_LABEL not in trial.labels()
    assert "is up to date" in trial.build()
