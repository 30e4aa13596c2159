"""A sample of a family is the same everywhere, has its size, and contains each value of each parameter."""

from pathlib import Path
from typing import Any

from tests.config.sampled_items import MARKS, configured, family
from tests.sampling import Some, pytest_collection_modifyitems

VERBS, STATES = [f"verb {index}" for index in range(10)], [f"state {index}" for index in range(8)]


def collected(*, args: tuple[str, ...] = ("tests",), **given: Any) -> dict[str, list[str]]:
    """Returns the cases that are run, by the name of the test."""
    items = [
        *family("two", 4, verb=VERBS, state=STATES),
        *family("one", 5, state=[*VERBS, *STATES]),
        *family("rare", 100, verb=VERBS, state=STATES),
        *(case for name in MARKS for case in family(name, None, verb=VERBS)),
    ]
    for number, case in enumerate(cases := family("beside its name", 5, verb=VERBS)):
        case.callspec.params["what"] = f"what is number {number}"
    items += cases
    names = list(dict.fromkeys(each.originalname for each in items))
    left_out: list[Any] = []
    before = len(items)
    pytest_collection_modifyitems(configured(args, left_out, **given), items)
    assert len(items) + len(left_out) == before
    return {name: [each.name for each in items if each.originalname == name] for name in names}


def sizes(found: dict[str, list[str]]) -> list[int]:
    return [len(cases) for name, cases in found.items() if name != "rare"]


def test_a_sample_has_its_size_and_each_value() -> None:
    taken = collected()
    assert sizes(taken) == [20, 4, 10, 10, 10, 10, 5, 2]
    for name in ("two", "rare"):
        assert {case.partition("[")[2].partition("-")[0] for case in taken[name]} == set(VERBS)
        assert {case.rstrip("]").partition("-")[2] for case in taken[name]} == set(STATES)
    assert len(taken["rare"]) < 20
    assert collected() == taken


def test_another_seed_draws_as_many_other_cases() -> None:
    samples = [collected(sample_seed=seed) for seed in range(5)]
    assert all(sizes(each) == sizes(samples[0]) for each in samples)
    assert len({tuple(each["two"]) for each in samples}) == 5


def test_tests_hardly_related_to_a_database_run_partly_on_the_second() -> None:
    second = collected(only_database=True)
    assert {name: len(second[name]) for name in MARKS} == {
        "no database": 10,
        "left whole": 10,
        "committing": 10,
        "rolled back": 3,
        "sampled": 2,
    }
    assert len(second["two"]) == 20


def test_in_parallel_parts_each_case_runs_on_one_database() -> None:
    alone, first = collected(), collected(beside=True)
    second = collected(beside=True, only_database=True)
    for name, number in {"rolled back": 2, "sampled": 3}.items():  # of ten
        assert not set(first[name]) & set(second[name])
        assert {*first[name], *second[name]} <= {*alone[name], *collected(whole=True)[name]}
        assert len(first[name] + second[name]) == number
    assert first["left whole"] == second["left whole"] == alone["left whole"]
    assert first["committing"] == second["committing"]
    assert len(first["committing"]) == 2


def test_everything_runs_with_whole_and_named_tests_always_run() -> None:
    whole = collected(whole=True, only_database=True)
    assert [len(cases) for cases in whole.values()] == [80, 18, 80, 10, 10, 10, 10, 10, 10]
    assert whole == collected(args=("tests/x.py::two[verb 1-state 1]",)) == collected(lf=True)


def test_a_test_with_a_loop_over_cases_draws_a_part_of_them() -> None:
    assert Some(is_whole=False)(range(10), one_in=3, first=4) == [1, 4, 7]
    assert Some(is_whole=False, seed=1)(range(10), one_in=3, first=4) == [2, 5, 8]
    assert Some(is_whole=True)(range(10), one_in=3, first=4) == list(range(10))


def test_a_part_is_run_of_a_large_family_where_both_databases_are_tested() -> None:
    """Every case is run in small families of tests/security, in tests that say so, and of a test that is requested."""
    for cases, number, name, places, beside in (
        (8, 8, "no database", "tests/a.py", False),
        (2, 1, "no database", "tests/a.py", True),
        (3, 2, "no database", "tests/a.py", True),
        (4, 1, "no database", "tests/a.py", True),
        (8, 1, "no database", "tests/a.py", True),
        (23, 3, "no database", "tests/a.py", True),
        (24, 2, "no database", "tests/a.py", True),
        (24, 24, "left whole", "tests/a.py", True),
        (7, 7, "no database", "tests/security/a.py", True),
        (23, 12, "no database", "tests/security/a.py", True),
        (24, 6, "no database", "tests/security/a.py", True),
    ):
        items = family(name, None, case=[str(case) for case in range(cases)])
        for item in items:
            item.path, item.module = Path(places), None
        pytest_collection_modifyitems(configured(beside=beside), items)
        assert len(items) == number, (cases, name, places)
