"""Large families of generated cases: a fixed part of each in every run, and all of it with `--whole`.

`@pytest.mark.sampled(3)` runs one in three of the cases of a parametrized test. Which ones depends on nothing but their
names and on `--sample-seed`, which the head of the output tells, so it is the same everywhere. Where a case has several
parameters, each value of each of them is in the sample.

On the second database (`--only-database`) a third of the cases is run of every family that the first one runs whole.
All are run of those that commit, and of those of which `@pytest.mark.every_case` says that its cases differ by what a
database does with them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar
from zlib import crc32

import pytest

from tests.committing import commits

Case = TypeVar("Case")

ON_THE_SECOND_DATABASE = 3
"""One in so many of the cases of a family, if it has as many."""


def pytest_report_header(config: pytest.Config) -> str:
    return "samples: all cases" if config.getoption("--whole") else f"samples: --sample-seed={_seed(config)}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole") or _are_named(config):
        return
    families: dict[Any, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if one_in := _one_in(item, config):
            families[item.parent, getattr(item, "originalname", item.name), one_in].append(item)
    left_out = {id(item) for (*_, one_in), family in families.items() for item in _rest(family, one_in, _seed(config))}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]


@pytest.fixture
def some(pytestconfig: pytest.Config) -> "Some":
    """For a test that goes through its cases itself."""
    return Some(is_whole=bool(pytestconfig.getoption("--whole")), seed=_seed(pytestconfig))


class Some:
    """Calling it with cases gives every `one_in`-th, or all of them with `--whole`."""

    def __init__(self, *, is_whole: bool, seed: int = 0) -> None:
        self.is_whole = is_whole
        self._seed = seed

    def __call__(self, cases: Iterable[Case], *, one_in: int, first: int = 0) -> list[Case]:
        every = list(cases)
        return every if self.is_whole else every[(first + self._seed) % one_in :: one_in]


def _are_named(config: pytest.Config) -> bool:
    """Whether somebody asks for a single case, or for what failed last."""
    return bool(config.getoption("lf", default=False)) or any("[" in argument for argument in config.args)


def _seed(config: pytest.Config) -> int:
    return int(config.getoption("--sample-seed"))


def _one_in(item: pytest.Item, config: pytest.Config) -> int:
    """One in how many of the cases of its family is run, or 0 where all are."""
    if marker := item.get_closest_marker("sampled"):
        return int(marker.args[0])
    is_left_whole = any(map(item.get_closest_marker, ("every_case", "one_database", "postgres_only"))) or commits(item)
    is_family = config.getoption("--only-database") and hasattr(item, "callspec")
    return ON_THE_SECOND_DATABASE if is_family and not is_left_whole else 0


def _rest(family: Sequence[pytest.Item], one_in: int, seed: int) -> list[pytest.Item]:
    """What the sample leaves out."""
    wanted = math.ceil(len(family) / one_in)
    # A value that one case alone has is that case's name, and no kind of cases.
    often = {value for value, count in Counter(chain.from_iterable(map(_values, family))).items() if count > 1}
    seen: set[tuple[str, int]] = set()
    taken: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in sorted(family, key=lambda item: crc32(item.name.encode(), seed)):
        kinds = _values(item) & often
        (taken if kinds - seen else rest).append(item)
        seen |= kinds
    return rest[max(0, wanted - len(taken)) :]


def _values(item: pytest.Item) -> set[tuple[str, int]]:
    params: dict[str, Any] = item.callspec.params  # type: ignore[attr-defined]  # it is parametrized
    return {(name, id(value)) for name, value in params.items()}
