"""Images are built when something has changed, and only then."""

import io
import tarfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import docker
import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from containers.docker_api.building import base_image, image_build
from containers.docker_api.building.image_build import GATEWAY, BuildContext, find_contexts
from containers.docker_api.building.wanted_images import select_contexts
from containers.management.commands.build_images import NO_BASE_IMAGE
from tests.containers.docker_under_test import DockerUnderTest

DOCKERFILE = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY greeting build-ca.cr[t] /\nRUN rm -f /build-ca.crt\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent type with a name that nobody else builds."""
    folder = tmp_path / f"trial-{tmp_path.name[-20:].strip('_').lower()}"
    folder.mkdir()
    (folder / "Dockerfile").write_text(DOCKERFILE)
    (folder / "greeting").write_text("hello")
    monkeypatch.setattr(image_build, "IMAGES", tmp_path)
    return folder


@pytest.fixture
def trial(folder: Path, docker_under_test: DockerUnderTest) -> Iterator[str]:
    yield f"berth/{folder.name}:latest"
    for image in docker_under_test.client.images(f"berth/{folder.name}"):
        docker_under_test.client.remove_image(image["Id"], force=True)  # with all of its tags


def build(under_test: DockerUnderTest, *options: str) -> str:
    printed = StringIO()
    call_command("build_images", "--base-image", under_test.image, *options, stdout=printed, stderr=printed)
    return printed.getvalue()


def names(archive: io.BytesIO) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=archive) as opened:
        return {member.name: member for member in opened.getmembers()}


def test_the_shipped_types_are_found() -> None:
    assert "berth/assistant:latest" in [context.image for context in find_contexts()]


def test_the_gateway_is_built_before_the_agents_that_need_it() -> None:
    nobody: Any = None
    assert select_contexts(nobody, [])[:2] == [GATEWAY, *find_contexts()][:2]
    assert [each.type for each in select_contexts(nobody, ["assistant", "firewall", "gateway"])] == [
        "gateway", "assistant", "firewall",
    ]  # fmt: skip
    assert GATEWAY not in find_contexts()


def test_the_digest_follows_content_mode_and_base(folder: Path) -> None:
    context = BuildContext(folder=folder)
    digests = {context.digest("base-1"), context.digest("base-2")}
    (folder / "greeting").write_text("hello, world")
    digests.add(context.digest("base-1"))
    (folder / "greeting").chmod(0o755)
    digests.add(context.digest("base-1"))
    assert len(digests) == 4
    assert context.digest("base-1") == context.digest("base-1")


def test_ignored_files_and_signatures_do_not_change_the_digest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = BuildContext(folder=folder)
    (folder / ".dockerignore").write_text("# nothing but\n*\n!greeting\n")
    before = context.digest("base")
    (folder / "notes").write_text("private")
    certificates = tmp_path / "ca.crt"
    certificates.write_text("CERTIFICATE")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates))
    assert context.digest("base") == before
    assert {"Dockerfile", "greeting", "build-ca.crt"} <= names(context.pack()).keys()
    assert "notes" not in names(context.pack())


def test_downloads_trust_the_certificates_with_which_berth_was_built(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container of Berth does not have its host's certificates."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setattr(image_build, "CHECKOUT", tmp_path)
    (tmp_path / "build-ca.crt").write_text("OURS")
    with tarfile.open(fileobj=BuildContext(folder=folder).pack()) as archive:
        packed = archive.extractfile("build-ca.crt")
        assert packed is not None
        assert packed.read() == b"OURS"


def test_an_unknown_type_is_named(folder: Path) -> None:
    with pytest.raises(CommandError, match="no agent type nonesuch"):
        call_command("build_images", "nonesuch")


@pytest.mark.docker
def test_an_image_is_built_once_and_again_when_something_changes(
    trial: str, folder: Path, docker_under_test: DockerUnderTest
) -> None:
    assert f"{trial} is built" in build(docker_under_test)
    found = docker_under_test.client.inspect_image(trial)
    first = found["Id"]
    assert found["Config"]["Labels"]["org.opencontainers.image.version"] == settings.BERTH_VERSION
    assert f"{trial} is up to date" in build(docker_under_test)
    (folder / "greeting").write_text("good evening")
    assert "Step 1/" in build(docker_under_test)
    second = docker_under_test.client.inspect_image(trial)["Id"]
    assert second != first
    assert f"{trial} is built" in build(docker_under_test, "--force")
    with pytest.raises(docker.errors.ImageNotFound):
        docker_under_test.client.inspect_image(first)


@pytest.mark.docker
def test_a_replaced_image_that_the_engine_cannot_remove_now_is_no_failure(
    trial: str, folder: Path, docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fall_silent(*_: Any) -> None:
        raise TimeoutError

    build(docker_under_test)
    (folder / "greeting").write_text("hello again")
    monkeypatch.setattr("containers.docker_api.client.DockerClient.remove_image", fall_silent)
    assert "is built" in build(docker_under_test)


@pytest.mark.docker
def test_a_failed_build_gives_the_reason(trial: str, folder: Path, docker_under_test: DockerUnderTest) -> None:
    (folder / "Dockerfile").write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN echo the reason && exit 7\n")
    printed = StringIO()
    with pytest.raises(CommandError, match="could not be built"):
        call_command("build_images", "--base-image", docker_under_test.image, stdout=printed, stderr=printed)
    assert "the reason" in printed.getvalue()


@pytest.mark.docker
def test_a_missing_base_image_is_named(folder: Path) -> None:
    with pytest.raises(CommandError, match="berth-test/nowhere"):
        call_command("build_images", "--base-image", "berth-test/nowhere:1", stdout=StringIO())


@pytest.mark.docker
def test_without_registry_root_or_mmdebstrap_one_sentence_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*args: Any) -> None:
        return None

    monkeypatch.setattr(base_image, "inspect_image", nothing)
    monkeypatch.setattr(base_image, "OFFICIAL", "127.0.0.1:9/python:3.13-slim")
    monkeypatch.setattr(base_image, "find_program", nothing)
    with pytest.raises(CommandError, match="--base-image") as raised:
        call_command("build_images", stdout=StringIO())
    assert raised.value.returncode == NO_BASE_IMAGE
    tried: list[tuple[str, ...]] = []
    monkeypatch.setattr(base_image, "pull_image", lambda _, *image: tried.append(image))
    with pytest.raises(CommandError, match="--base-image"):
        call_command("build_images", "--no-pull", stdout=StringIO())
    assert tried == []
