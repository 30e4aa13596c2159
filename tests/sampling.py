"""Large families of generated cases: a fixed part of each in every run, and all of it with `--whole`.

`@pytest.mark.sampled(3)` runs one in three of the cases of a parametrized test. Which ones depends on nothing but their
names and on `--sample-seed`, which the head of the output tells, so it is the same everywhere. Where a case has several
parameters, each value of each of them is in the sample. Where the databases are tested side by side, which is the whole
test command, half as many are run (`SPARSER`), and of any other family a part: the larger it is, the smaller (`LARGE`).
In tests/security that part is larger. All are run of those of which `@pytest.mark.every_case` says that each is one of
its own.

Tests without parameters take turns there: three commits in a row run all of them once (`TURNS`). Each commit runs those
of tests/security, tests/e2e and of the repository itself (`EVERY_TIME`).

On the second database (`--only-database`) a quarter is run of what the first one runs of every family, and of the tests
without parameters. All are run of those that commit, of those of which `@pytest.mark.every_case` says that its cases
differ by what a database does with them, and of the tests without parameters in modules that speak of databases. Where
both databases are tested side by side, the first one leaves that quarter to the second (`--beside`).

What takes long has its turn more rarely: `@pytest.mark.rare(3)` in one of twelve commits (`RARER`), and
`@pytest.mark.either_database` on one of the databases, with its module. Hypothesis draws fewer examples, and others.
"""

import inspect
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from types import ModuleType
from typing import Any, TypeVar
from zlib import crc32

import pytest

from tests.databases import commits, touches_database

Case = TypeVar("Case")

ON_THE_SECOND_DATABASE = 4
"""One in this many cases of a family that has as many, and of all tests without parameters."""

EXAMPLES = 20
"""The examples that Hypothesis draws for one run, if a test sets no number."""

LARGE, LARGE_IN_SECURITY = {24: 16, 8: 8, 4: 4, 2: 2}, {24: 4, 8: 2}
"""One in how many cases of a family is enough for one run, by the number of its cases. The next commit takes others."""

SPARSER, RARER = 2, 4
"""How many times fewer cases of what is `sampled` the whole test command runs, and how many times more rarely what is
`rare`."""

TURNS = 3
"""In how many commits each test without parameters is run once."""

EVERY_TIME = re.compile(r"tests/(security/|e2e/|config/test_)")
"""The tests that every commit runs."""

LEFT_WHOLE = ("every_case", "either_database", "one_database", "postgres_only")
"""Marks of tests of which a database runs everything or nothing."""

SPEAKS_OF_DATABASES = re.compile(
    r"connection\.vendor|num_(max_)?queries|CaptureQueries|EXPLAIN|\.cursor\(|execute_wrapper|IntegrityError|DataError"
    r"|OperationalError|select_for_update|migrat|sqlite|postgres",
    re.IGNORECASE,
)


def pytest_configure(config: pytest.Config) -> None:
    from hypothesis import settings

    # Its own settings for CI do not depend on how busy the machine is, but draw the same examples each time.
    settings.register_profile("unhurried", settings.get_profile("ci"), derandomize=False)
    settings.register_profile("beside", settings.get_profile("unhurried"), max_examples=EXAMPLES)
    settings.load_profile("beside" if config.getoption("--beside") else "unhurried")


def pytest_report_header(config: pytest.Config) -> str:
    return "samples: all cases" if config.getoption("--whole") else f"samples: --sample-seed={_seed(config)}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole") or _are_named(config):
        return
    families: dict[Any, list[pytest.Item]] = defaultdict(list)
    for item in (item for item in items if _has_its_turn(item, config)):
        families[item.parent, getattr(item, "originalname", item.name)].append(item)
    taken = {id(item) for family in families.values() for item in _choose(family, config)}
    left_out = {id(item) for item in items} - taken
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]


@pytest.fixture
def some(pytestconfig: pytest.Config) -> "Some":
    """For a test that loops over its cases itself."""
    return Some(is_whole=bool(pytestconfig.getoption("--whole")), seed=_seed(pytestconfig))


class Some:
    """Called with cases, it returns every `one_in`-th, or all of them with `--whole`."""

    def __init__(self, *, is_whole: bool, seed: int = 0) -> None:
        self.is_whole = is_whole
        self.seed = seed

    def __call__(self, cases: Iterable[Case], *, one_in: int, first: int = 0) -> list[Case]:
        every = list(cases)
        return every if self.is_whole else every[(first + self.seed) % one_in :: one_in]


def _are_named(config: pytest.Config) -> bool:
    """Whether the user asks for a single case, or for the last failures."""
    return bool(config.getoption("lf", default=False)) or any("[" in argument for argument in config.args)


def _seed(config: pytest.Config) -> int:
    return int(config.getoption("--sample-seed"))


def _has_its_turn(item: pytest.Item, config: pytest.Config) -> bool:
    is_second = bool(config.getoption("--only-database"))
    if not (is_second or config.getoption("--beside")):
        return True
    if ((crc32(item.nodeid.encode()) >> 16) + _seed(config)) % _turns(item, config):  # other bits choose the database
        return False
    if item.get_closest_marker("either_database"):
        module, _, _ = item.nodeid.partition("::")
        return bool(crc32(module.encode(), _seed(config)) % 2) is is_second
    return True


def _turns(item: pytest.Item, config: pytest.Config) -> int:
    """Returns in how many commits the test has one turn."""
    if rare := item.get_closest_marker("rare"):
        return int(rare.args[0]) * RARER
    is_one_of_many = hasattr(item, "callspec") or item.get_closest_marker("either_database")
    if is_one_of_many or not config.getoption("--beside") or item.get_closest_marker("every_case"):
        return 1
    return 1 if EVERY_TIME.match(item.nodeid) else TURNS


def _choose(family: list[pytest.Item], config: pytest.Config) -> list[pytest.Item]:
    """Returns the cases of the family that are run here."""
    marker, seed = family[0].get_closest_marker("sampled"), _seed(config)
    is_second, is_beside = config.getoption("--only-database"), config.getoption("--beside")
    one_in = int(marker.args[0]) if marker else _part_of(family) if is_beside else 1
    if marker and is_beside:
        one_in *= SPARSER
    chosen = _sample(family, one_in, seed) if one_in > 1 else family
    if not (is_second or is_beside) or not _is_for_both(family[0]):
        return chosen
    if hasattr(family[0], "callspec"):
        on_second = _sample(chosen, ON_THE_SECOND_DATABASE, seed)
    else:
        on_second = [item for item in chosen if crc32(item.nodeid.encode(), seed) % ON_THE_SECOND_DATABASE == 0]
    if is_second:
        return on_second
    elsewhere = set(map(id, on_second))
    return [item for item in chosen if id(item) not in elsewhere]


def _part_of(family: list[pytest.Item]) -> int:
    """Returns one in how many of its cases is run if both databases are tested."""
    if family[0].get_closest_marker("every_case"):
        return 1
    large = LARGE_IN_SECURITY if "security" in family[0].path.parts else LARGE
    return next((one_in for cases, one_in in large.items() if len(family) >= cases), 1)


def _is_for_both(item: pytest.Item) -> bool:
    """Whether part of its family, or of all tests like it, is enough for each database."""
    is_left_whole = any(map(item.get_closest_marker, LEFT_WHOLE)) or commits(item)
    is_about_them = not hasattr(item, "callspec") and _speaks_of_databases(item.module)  # type: ignore[attr-defined]  # of a function of a module
    return not (is_left_whole or is_about_them) and touches_database(item)


@cache
def _speaks_of_databases(module: ModuleType) -> bool:
    return bool(SPEAKS_OF_DATABASES.search(inspect.getsource(module)))


def _sample(family: Sequence[pytest.Item], one_in: int, seed: int) -> list[pytest.Item]:
    wanted = math.ceil(len(family) / one_in)
    # A value that only one case has is that case's name, and not a kind of cases.
    often = {value for value, count in Counter(chain.from_iterable(map(_values, family))).items() if count > 1}
    seen: set[tuple[str, int]] = set()
    taken: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in sorted(family, key=lambda item: crc32(item.name.encode(), seed)):
        kinds = _values(item) & often
        (taken if kinds - seen else rest).append(item)
        seen |= kinds
    return taken + rest[: max(0, wanted - len(taken))]


def _values(item: pytest.Item) -> set[tuple[str, int]]:
    params: dict[str, Any] = item.callspec.params  # type: ignore[attr-defined]  # it is parametrized
    return {(name, id(value)) for name, value in params.items()}
