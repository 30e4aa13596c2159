"""Which images are removed, on an engine in memory, because others may use those of the real one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from containers.docker_api.building.image_build import CONTEXT_LABEL
from containers.docker_api.building.unused_images import AT_ONCE, KEPT_FOR, remove_unused
from containers.errors import EngineRefusedError

pytestmark = pytest.mark.one_database

LONG_AGO = time.time() - KEPT_FOR - 60


class Engine:
    """Images by their ids. An image in use is not removed."""

    def __init__(self, *images: dict[str, Any], used: tuple[str, ...] = ()) -> None:
        self.rows, self.used = [*images], used
        self.removed: list[str] = []

    @contextmanager
    def call(self) -> Iterator[Any]:
        yield self

    def images(self, *, filters: dict[str, list[str]]) -> list[dict[str, Any]]:
        assert filters == {"label": [CONTEXT_LABEL]}
        return self.rows

    def remove_image(self, name: str) -> None:
        if name in self.used:
            raise EngineRefusedError("It is in use.")
        self.removed.append(name)


def image(*names: str, number: int = 1, created: float = LONG_AGO) -> dict[str, Any]:
    return {"Id": f"sha256:{number}", "RepoTags": [*names] or None, "Created": created}


def test_former_images_go_and_all_others_stay() -> None:
    engine: Any = Engine(
        image("berth/assistant:0123", number=1),
        image(number=2),
        image("<none>:<none>", number=3),
        image("berth/assistant:4567", number=4),
        image("berth/assistant:89ab", "berth/assistant:latest", number=5),
        image("berth/gateway:0123", number=6),
        image("berth/firewall:latest", number=7),
        image("my/own:1", number=8),
        image("berth/assistant:cdef", number=9, created=time.time()),
    )
    assert remove_unused(engine, keep={"sha256:4"}) == 1
    assert engine.removed == ["berth/assistant:0123"]


def test_an_image_used_by_a_container_is_skipped() -> None:
    engine: Any = Engine(image("berth/a:1"), image("berth/b:1", number=2), used=("berth/a:1",))
    assert remove_unused(engine, keep=()) == 1
    assert engine.removed == ["berth/b:1"]


def test_one_call_removes_a_limited_number_of_images() -> None:
    engine: Any = Engine(*(image(f"berth/a:{number}", number=number) for number in range(AT_ONCE + 5)))
    assert remove_unused(engine, keep=()) == AT_ONCE
