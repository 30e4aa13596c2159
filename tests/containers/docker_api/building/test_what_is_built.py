"""Which images are built: those that a first deploy needs, from exactly the present files."""

import io
import threading
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import docker
import pytest
from django.core.management import call_command

from containers.docker_api.building import former_images, image_build, pinned_base, unused_images, wanted_images
from containers.docker_api.building.image_build import GATEWAY, BuildContext
from containers.docker_api.building.pinned_base import PinnedBase, describe_build
from containers.docker_api.building.run_build import Ingredients
from containers.docker_api.building.wanted_images import are_built, select_contexts
from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError
from containers.management.commands import build_images
from tests.containers.docker_under_test import DockerUnderTest

NOBODY: Any = None
"""Stands for an engine that is not asked."""


@pytest.fixture
def types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of agent types: the default one and two others, one of which is on the engine."""
    for name in ("assistant", "built", "unbuilt"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Dockerfile").write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n")
    monkeypatch.setattr(image_build, "IMAGES", tmp_path)
    monkeypatch.setattr(wanted_images, "inspect_image", lambda _, image: image == "berth/built:latest" or None)
    return tmp_path


def test_the_first_run_builds_the_default_type_and_previously_built_ones(types: Path) -> None:
    assert [each.type for each in select_contexts(NOBODY, [], is_first_run=True)] == ["assistant", "built"]
    assert [each.type for each in select_contexts(NOBODY, [])] == ["assistant", "built", "unbuilt"]
    assert [each.type for each in select_contexts(NOBODY, ["unbuilt"], is_first_run=True)] == ["unbuilt"]


def test_a_second_start_builds_nothing_if_all_images_are_current(
    types: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    base = PinnedBase(name="debian:12", digest="sha256:" + "a" * 64)
    built = {f"berth/{name}:latest": BuildContext(folder=types / name, name=name) for name in ("assistant", "built")}
    images = {name: {"Config": {"Labels": describe_build(context, base)}} for name, context in built.items()}
    for module in (wanted_images, pinned_base):
        monkeypatch.setattr(module, "inspect_image", lambda _, image: images.get(image))
    assert are_built(NOBODY, firewall=False)
    assert not are_built(NOBODY, firewall=True)
    (types / "built" / "more").touch()
    assert not are_built(NOBODY, firewall=False)
    (types / "built" / "more").unlink()
    del images["berth/assistant:latest"]
    assert not are_built(NOBODY, firewall=False)
    monkeypatch.setattr(wanted_images, "inspect_image", Mock(side_effect=EngineUnavailableError("It is away.")))
    assert not are_built(NOBODY, firewall=False)


def test_without_the_gateway_its_image_is_built_on_request_only(settings: Any) -> None:
    assert GATEWAY in select_contexts(NOBODY, [])
    settings.BERTH_GATEWAY = False
    assert GATEWAY not in select_contexts(NOBODY, [])
    assert select_contexts(NOBODY, ["gateway"]) == [GATEWAY]


def test_other_files_make_another_image_of_the_gateway(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM ${BASE_IMAGE}\n")
    ours = BuildContext(folder=tmp_path, name="gateway", named_by_content=True)
    before = ours.image
    assert before == BuildContext(folder=tmp_path, name="gateway", named_by_content=True).image
    assert before.startswith("berth/gateway:")
    assert not before.endswith("latest")
    (tmp_path / "Dockerfile").write_text("FROM ${BASE_IMAGE}\nUSER 1\n")
    assert ours.image != before


def test_images_are_built_in_parallel_and_the_first_failure_is_reported(
    types: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=60)

    def build(_: Any, context: BuildContext, of: Ingredients) -> Iterator[str]:
        both.wait()
        yield f"Step 1/1 : of {context.type} on {of.base}"

    monkeypatch.setattr(build_images, "build_image", build)
    printed = StringIO()
    contexts = [BuildContext(folder=types / name) for name in ("assistant", "built")]
    command = build_images.Command(stdout=printed)
    command._build_all(
        NOBODY, [None, *(build_images._Build(context, Ingredients(base="base", labels={})) for context in contexts)]
    )
    for name in ("assistant", "built"):
        assert f"  {name}: Step 1/1 : of {name} on base" in printed.getvalue()
        assert f"berth/{name}:latest is built." in printed.getvalue()


@pytest.fixture
def former(docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Two former images of a gateway that nobody else builds: a container was made of the first one."""
    client, repository = docker_under_test.client, f"berth-test/gateway-{uuid4().hex[:8]}"
    monkeypatch.setattr(BuildContext, "repository", repository)
    names = [f"{repository}:used", f"{repository}:unused"]
    for name in names:
        for _ in client.build(fileobj=dockerfile(name), tag=name, rm=True):
            pass
    container = client.create_container(names[0], name=uuid4().hex, command="true")["Id"]
    yield names
    client.remove_container(container, force=True)
    for name in names:
        try:
            client.remove_image(name, force=True)
        except docker.errors.ImageNotFound:
            continue


def dockerfile(name: str) -> Any:
    return io.BytesIO(f"FROM scratch\nLABEL of={name}\n".encode())


@pytest.mark.docker
def test_a_former_gateway_image_is_removed_when_it_is_old_and_unused(
    former: list[str], docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def there() -> list[str]:
        found = docker_under_test.client.images(former[0].partition(":")[0])
        return sorted(name for each in found for name in each["RepoTags"])

    former_images.remove_former_gateways(Connection())
    assert there() == sorted(former), "Somebody may have built it a moment ago, for an installation of his own."
    later = time.time() + former_images.KEPT_FOR + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    former_images.remove_former_gateways(Connection())
    assert there() == [former[0]]


def test_a_former_gateway_image_is_removed_with_unused_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was too young when the next version was built, and later runs build nothing."""
    called: list[object] = []
    monkeypatch.setattr(unused_images, "remove_former_gateways", called.append)
    monkeypatch.setattr(unused_images, "_find_unused", lambda *_: [])
    assert unused_images.remove_unused(NOBODY, keep=()) == 0
    assert called == [NOBODY]


@pytest.mark.docker
def test_a_failed_removal_does_not_fail_the_build(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fall_silent(*_: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr("containers.docker_api.client.DockerClient.images", fall_silent)
    former_images.remove_former_gateways(Connection())
    call_command("build_images", "gateway", "--no-pull", stdout=StringIO())
