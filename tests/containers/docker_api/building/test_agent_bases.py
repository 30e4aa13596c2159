"""An agent base that was replaced stays until no image is about to be built on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

from containers.docker_api.building import run_build
from containers.docker_api.building.image_build import AGENT_BASE, CONTEXT_LABEL, BuildContext
from containers.docker_api.building.pinned_base import PinnedBase
from containers.docker_api.building.run_build import Ingredients
from containers.errors import EngineRefusedError
from containers.management.commands import build_images

LABELS = {CONTEXT_LABEL: "0" * 64}


class Engine:
    """Images by their names and ids. Each build creates a new id; a build on a missing image fails."""

    def __init__(self) -> None:
        self.latest: dict[str, str] = {}
        self.there: set[str] = set()
        self.made = 0

    @contextmanager
    def call(self, *_: Any, **__: Any) -> Iterator[Any]:
        yield self

    def inspect_image(self, image: str) -> dict[str, Any] | None:
        return {"Id": self.latest[image]} if image in self.latest else None

    def build(self, *, tag: str, buildargs: dict[str, str], **_: Any) -> Any:
        self.made += 1
        base = buildargs.get("AGENT_BASE")
        if base and base not in self.there:
            return (line for line in [{"error": f"{base} is missing"}])
        self.latest[tag] = f"{tag} {self.made}"
        self.there.add(self.latest[tag])
        return (line for line in [{"stream": "Step 1/1"}])

    def tag(self, *_: Any) -> None:
        pass

    def remove_image(self, image: str) -> None:
        self.there.remove(image)


def bases_of(context: BuildContext) -> SimpleNamespace:
    return SimpleNamespace(uses_agent_base=context.type != AGENT_BASE.type, unpinned=())


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    for module in (run_build, build_images):
        monkeypatch.setattr(module, "inspect_image", lambda connection, image: connection.inspect_image(image))
    monkeypatch.setattr(build_images, "is_current", lambda *_: False)
    monkeypatch.setattr(build_images, "describe_build", lambda *_: LABELS)
    monkeypatch.setattr(build_images, "fetch_base", lambda *_, **__: "base")
    monkeypatch.setattr(BuildContext, "base_images", bases_of)
    monkeypatch.setattr(BuildContext, "pack", lambda *_: None)
    return made


def types(folder: Any) -> list[BuildContext]:
    return [BuildContext(folder=folder / name, tagged_by_content=True) for name in ("one", "other")]


def test_two_types_with_different_pins_are_each_built_on_their_base(
    engine: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_images, "find_pin", lambda _, known: PinnedBase(name=known[0], digest=known[0]))
    command = build_images.Command(stdout=StringIO())
    plans = [command._plan(engine, each, None, {"no_pull": True, "force": True}) for each in types(tmp_path)]
    command._build_all(engine, plans)
    bases = {image for image in engine.there if image.startswith(AGENT_BASE.image)}
    assert set(engine.latest) == {AGENT_BASE.image, "berth/one:latest", "berth/other:latest"}
    assert bases == {engine.latest[AGENT_BASE.image]}, "The former base goes once all are built."


def test_another_image_that_was_replaced_goes_at_once(engine: Any, tmp_path: Any) -> None:
    of = Ingredients(base="base", labels=LABELS)
    for _ in range(2):
        list(run_build.build_image(engine, types(tmp_path)[0], of))
    assert engine.there == {"berth/one:latest 2"}


def test_the_engine_of_these_tests_misses_a_base(engine: Any, tmp_path: Any) -> None:
    of = Ingredients(base="base", agent_base="gone", labels=LABELS)
    with pytest.raises(EngineRefusedError):
        list(run_build.build_image(engine, types(tmp_path)[0], of))
