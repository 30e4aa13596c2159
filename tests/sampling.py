"""Large families of generated cases: a fixed part of each in every run, and all of it with `--whole`.

`@pytest.mark.sampled(3)` runs one in three of the cases of a parametrized test. Which ones depends on nothing but their
names, so it is the same everywhere. Where a case has several parameters, each value of each of them is in the sample.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar
from zlib import crc32

import pytest

Case = TypeVar("Case")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole") or _are_named(config):
        return
    families: dict[Any, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            families[item.parent, getattr(item, "originalname", item.name)].append(item)
    left_out = {id(item) for family in families.values() for item in _rest(family)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]


@pytest.fixture
def some(pytestconfig: pytest.Config) -> "Some":
    """For a test that goes through its cases itself."""
    return Some(is_whole=bool(pytestconfig.getoption("--whole")))


class Some:
    """Calling it with cases gives every `one_in`-th, or all of them with `--whole`."""

    def __init__(self, *, is_whole: bool) -> None:
        self.is_whole = is_whole

    def __call__(self, cases: Iterable[Case], *, one_in: int, first: int = 0) -> list[Case]:
        every = list(cases)
        return every if self.is_whole else every[first % one_in :: one_in]


def _are_named(config: pytest.Config) -> bool:
    """Whether somebody asks for a single case, or for what failed last."""
    return bool(config.getoption("lf", default=False)) or any("[" in argument for argument in config.args)


def _rest(family: Sequence[pytest.Item]) -> list[pytest.Item]:
    """What the sample leaves out."""
    marker = family[0].get_closest_marker("sampled")
    assert marker is not None
    wanted = math.ceil(len(family) / marker.args[0])
    seen: set[tuple[str, int]] = set()
    taken: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in sorted(family, key=lambda item: crc32(item.name.encode())):
        params = item.callspec.params  # type: ignore[attr-defined]  # it is parametrized
        values = {(name, id(value)) for name, value in params.items()}
        (taken if len(values) > 1 and values - seen else rest).append(item)
        seen |= values
    return rest[max(0, wanted - len(taken)) :]
