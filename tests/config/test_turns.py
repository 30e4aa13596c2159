"""Tests without parameters and slow tests have their turn: on one of the databases, and in one of several commits."""

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests import paths, sampling
from tests.config.sampled_items import ROLLED_BACK, configured, without_parameters
from tests.sampling import TURNS, pytest_collection_modifyitems

THIRD = SimpleNamespace(args=(3,))


def test_a_test_without_parameters_is_run_on_one_of_two_databases_unless_it_speaks_of_them() -> None:
    def names(module: ModuleType, **given: Any) -> set[str]:
        config: Any = configured(**given)
        pytest_collection_modifyitems(config, items := without_parameters(module))
        return {item.name for item in items}

    found = {
        (seed, second): names(paths, beside=True, only_database=second, sample_seed=seed)
        for seed in range(TURNS)
        for second in (False, True)
    }
    assert set.union(*found.values()) == names(paths)
    assert sum(map(len, found.values())) == len(names(paths))
    assert all(len(found[seed, False]) > len(found[seed, True]) > 0 for seed in range(TURNS))
    assert names(paths, only_database=True) != names(paths, only_database=True, sample_seed=1)
    assert names(sampling, beside=True) == names(sampling, only_database=True, beside=True)
    assert names(sampling, only_database=True) == names(sampling)
    assert names(paths, only_database=True, whole=True) == names(paths)


def test_tests_without_parameters_take_turns_from_commit_to_commit() -> None:
    def names(place: str, mark: str, seed: int) -> set[str]:
        pytest_collection_modifyitems(
            configured(beside=True, sample_seed=seed), items := without_parameters(sampling, place, mark)
        )
        return {item.name for item in items}

    for place in ("tests/accounts/test_a.py", "tests/config/serving/test_a.py"):
        for seed in range(3):
            turns = [names(place, "rolled back", seed + each) for each in range(TURNS)]
            assert sum(map(len, turns)) == len(set.union(*turns)) == 30
            assert names(place, "rolled back", seed + TURNS) == turns[0]
        assert len(names(place, "left whole", 0)) == 30
    for place in ("tests/security/test_a.py", "tests/e2e/test_a.py", "tests/config/test_a.py"):
        assert len(names(place, "rolled back", 0)) == 30


def test_slow_tests_have_their_turn() -> None:
    def items() -> list[Any]:
        return [
            SimpleNamespace(
                name=f"{mark} {number}",
                nodeid=f"tests/test_{number}.py::{mark}",
                parent=None,
                path=Path("tests/a.py"),
                module=sampling,
                get_closest_marker=(dict.fromkeys(mark.split(" and "), THIRD) | {"django_db": ROLLED_BACK}).get,
            )
            for number in range(90)
            for mark in ("rare", "either_database", "either_database and rare")
        ]

    def names(mark: str, **given: Any) -> set[str]:
        config: Any = configured(**given)
        pytest_collection_modifyitems(config, found := items())
        return {item.name for item in found if item.name.rpartition(" ")[0] == mark}

    for mark in ("rare", "either_database"):
        assert len(names(mark)) == len(names(mark, whole=True, beside=True)) == 90
    for seed in range(3):
        for mark, (least, most) in {"either_database": (89, 91), "either_database and rare": (0, 16)}.items():
            first, second = (names(mark, beside=True, sample_seed=seed, only_database=on) for on in (False, True))
            assert not first & second
            assert least < len(first | second) < most
        assert 20 < len(names("either_database", beside=True, sample_seed=seed)) < 70
        assert 0 < len(names("rare", beside=True, sample_seed=seed)) < 16
    for mark, many in {"either_database": 8, "rare": 12}.items():
        assert set.union(*(names(mark, beside=True, sample_seed=seed) for seed in range(many))) == names(mark)


def test_no_test_for_the_second_database_is_in_a_room_that_it_leaves_out() -> None:
    """Such a test would run on no database in one of four commits."""
    [rooms] = re.findall(
        r"^without_database=\(tests/\{(.+)\}\)$", (paths.ROOT / "config/bin/test").read_text(), re.MULTILINE
    )
    modules = [module for room in rooms.split(",") for module in (paths.ROOT / "tests" / room).rglob("test_*.py")]
    texts = {module: module.read_text() for module in modules if "browser" not in module.parts}
    using = {
        module
        for module, text in texts.items()
        if re.search("django_db|transactional_db|live_server|postgres_only", text)
    }
    assert using
    assert {module for module in using if not re.search(r"one_database(?!\(.postgresql)", texts[module])} == set()
