"""`build_images --wheelhouse`: images of agents on a machine that reaches no registry of Python packages."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from containers.docker_api.building import run_build, wanted_images
from containers.docker_api.building.image_build import IMAGES, BuildContext
from containers.docker_api.building.pinned_base import PinnedBase
from containers.docker_api.building.wheelhouse import find_wheels
from containers.errors import EngineRefusedError
from containers.management.commands import build_images
from tests.paths import ROOT

WHEELS = ("one-1.0-py3-none-any.whl", "two-2.0-py3-none-any.whl")

pytestmark = pytest.mark.one_database


class Engine:
    """Records which files a build gets."""

    def __init__(self) -> None:
        self.given: set[str] = set()

    @contextmanager
    def call(self, *_: Any, **__: Any) -> Iterator[Any]:
        yield self

    def build(self, *, fileobj: Any, **_: Any) -> Iterator[dict[str, str]]:
        with tarfile.open(fileobj=fileobj) as archive:
            self.given = set(archive.getnames())
        return (line for line in [{"stream": "Step 1/1"}])

    def tag(self, *_: Any) -> None:
        """Is not used."""


@pytest.fixture
def context(tmp_path: Path) -> BuildContext:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "Dockerfile").write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY *.wh[l] /build/\n")
    return BuildContext(folder=folder, tagged_by_content=True)


@pytest.fixture
def engine(context: BuildContext, monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(build_images, "Connection", lambda: made)
    for module in (build_images, wanted_images):
        monkeypatch.setattr(module, "find_contexts", lambda: [context])
    monkeypatch.setattr(build_images, "find_pin", lambda *_: PinnedBase(name="base", digest="sha256:1"))
    monkeypatch.setattr(build_images, "fetch_base", lambda *_, **__: "base")
    monkeypatch.setattr(build_images, "is_current", lambda *_: False)
    monkeypatch.setattr(build_images, "remove_former_gateways", lambda _: None)
    monkeypatch.setattr(run_build, "inspect_image", lambda *_: None)
    return made


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in (*WHEELS, "notes.txt", "source-1.0.tar.gz"):
        (folder / name).write_bytes(name.encode())
    return folder


def test_its_packages_are_given_to_the_build_and_nothing_else_of_the_folder(engine: Engine, wheelhouse: Path) -> None:
    call_command("build_images", "mine", "--wheelhouse", str(wheelhouse), stdout=StringIO())
    assert {name for name in engine.given if name.endswith((".whl", ".txt", ".gz"))} == {*WHEELS}
    call_command("build_images", "mine", stdout=StringIO())
    assert not engine.given & {*WHEELS}


def test_local_packages_do_not_change_the_image_s_digest(context: BuildContext, wheelhouse: Path) -> None:
    before = context.digest("")
    context.pack(find_wheels(str(wheelhouse)))
    assert context.digest("") == before


@pytest.mark.parametrize("name", ["", "missing", "wheels/notes.txt"])
def test_an_empty_package_folder_is_reported_with_the_command_that_fills_it(
    engine: Engine, wheelhouse: Path, tmp_path: Path, name: str
) -> None:
    for wheel in WHEELS:
        (wheelhouse / wheel).unlink()
    with pytest.raises(CommandError, match=r"no \.whl file in .* `pip download"):
        call_command("build_images", "mine", "--wheelhouse", str(tmp_path / (name or "wheels")), stdout=StringIO())
    with pytest.raises(EngineRefusedError):
        find_wheels(str(tmp_path / name))


INSTALLING = [path for path in sorted(IMAGES.glob("*/Dockerfile")) if "pip install" in path.read_text()]


@pytest.mark.parametrize("dockerfile", INSTALLING, ids=lambda path: path.parent.name)
def test_each_shipped_image_installs_local_packages_instead_of_the_registry_s(dockerfile: Path) -> None:
    text = dockerfile.read_text()
    assert "*.wh[l]" in text, dockerfile.relative_to(ROOT)
    assert "PIP_NO_INDEX=1 PIP_FIND_LINKS=/build" in text
    assert "--require-hashes" in text
