"""A sample of a family is the same everywhere, has its size, and contains each value of each parameter."""

from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests import paths, sampling
from tests.sampling import Some, pytest_collection_modifyitems

ROLLED_BACK = SimpleNamespace(kwargs={})
THIRD = SimpleNamespace(args=(3,))
MARKS: dict[str, dict[str, SimpleNamespace]] = {
    "no database": {},
    "left whole": {"every_case": SimpleNamespace(args=()), "django_db": ROLLED_BACK},
    "committing": {"django_db": SimpleNamespace(kwargs={"transaction": True})},
    "rolled back": {"django_db": ROLLED_BACK},
    "sampled": {"django_db": ROLLED_BACK, "sampled": SimpleNamespace(args=(2,))},
}
VERBS, STATES = [f"verb {index}" for index in range(10)], [f"state {index}" for index in range(8)]


def family(name: str, one_in: int | None, **parameters: list[str]) -> list[Any]:
    """Returns the cases that pytest makes of a test with these parameters."""
    marks = dict(MARKS.get(name, {}))
    if one_in:
        marks["sampled"] = SimpleNamespace(args=(one_in,))
    return [
        SimpleNamespace(
            name=f"{name}[{'-'.join(values)}]",
            originalname=name,
            parent=None,
            path=Path("tests/test_families.py"),
            callspec=SimpleNamespace(params=dict(zip(parameters, values, strict=True))),
            get_closest_marker=marks.get,
        )
        for values in product(*parameters.values())
    ]


def without_parameters(module: ModuleType) -> list[Any]:
    return [
        SimpleNamespace(
            name=f"test {number}", nodeid=f"{module.__name__}::test {number}", parent=None,
            path=Path("tests/test_families.py"), module=module, get_closest_marker={"django_db": ROLLED_BACK}.get,
        )
        for number in range(30)
    ]  # fmt: skip


def configured(args: tuple[str, ...] = ("tests",), left_out: list[Any] | None = None, **given: bool | int) -> Any:
    hook = SimpleNamespace(pytest_deselected=lambda *, items: [] if left_out is None else left_out.extend(items))
    options = {"whole": False, "lf": False, "sample_seed": 0, "only_database": False, "beside": False} | given
    return SimpleNamespace(
        args=args, hook=hook, getoption=lambda name, default=None: options[name.strip("-").replace("-", "_")]
    )


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
    for name, number in {"rolled back": 3, "sampled": 3}.items():  # of ten
        assert not set(first[name]) & set(second[name])
        assert {*first[name], *second[name]} <= {*alone[name], *collected(whole=True)[name]}
        assert len(first[name] + second[name]) == number
    assert first["left whole"] == second["left whole"] == alone["left whole"]
    assert first["committing"] == second["committing"]
    assert len(first["committing"]) == 3


def test_everything_runs_with_whole_and_named_tests_always_run() -> None:
    whole = collected(whole=True, only_database=True)
    assert [len(cases) for cases in whole.values()] == [80, 18, 80, 10, 10, 10, 10, 10, 10]
    assert whole == collected(args=("tests/x.py::two[verb 1-state 1]",)) == collected(lf=True)


def test_a_test_with_a_loop_over_cases_draws_a_part_of_them() -> None:
    assert Some(is_whole=False)(range(10), one_in=3, first=4) == [1, 4, 7]
    assert Some(is_whole=False, seed=1)(range(10), one_in=3, first=4) == [2, 5, 8]
    assert Some(is_whole=True)(range(10), one_in=3, first=4) == list(range(10))


def test_a_test_without_parameters_is_run_on_one_of_two_databases_unless_it_speaks_of_them() -> None:
    def names(module: ModuleType, **given: Any) -> set[str]:
        config: Any = configured(**given)
        pytest_collection_modifyitems(config, items := without_parameters(module))
        return {item.name for item in items}

    first, second = names(paths, beside=True), names(paths, only_database=True)
    assert first | second == names(paths)
    assert not first & second
    assert len(first) > len(second) > 3
    assert second != names(paths, only_database=True, sample_seed=1)
    assert names(sampling, beside=True) == names(sampling, only_database=True) == names(sampling)
    assert names(paths, only_database=True, whole=True) == names(paths)


def test_a_part_is_run_of_a_large_family_where_both_databases_are_tested() -> None:
    """Every case is run in small families of tests/security, in tests that say so, and of a test that is requested."""
    for cases, number, name, places, beside in (
        (8, 8, "no database", "tests/a.py", False),
        (4, 2, "no database", "tests/a.py", True),
        (8, 2, "no database", "tests/a.py", True),
        (24, 3, "no database", "tests/a.py", True),
        (24, 24, "left whole", "tests/a.py", True),
        (23, 23, "no database", "tests/security/a.py", True),
        (24, 12, "no database", "tests/security/a.py", True),
    ):
        items = family(name, None, case=[str(case) for case in range(cases)])
        for item in items:
            item.path, item.module = Path(places), None
        pytest_collection_modifyitems(configured(beside=beside), items)
        assert len(items) == number, (cases, name, places)


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
        for mark, (least, most) in {"either_database": (89, 91), "either_database and rare": (5, 30)}.items():
            first, second = (names(mark, beside=True, sample_seed=seed, only_database=on) for on in (False, True))
            assert not first & second
            assert least < len(first | second) < most
        assert 20 < len(names("either_database", beside=True, sample_seed=seed)) < 70
        assert 5 < len(names("rare", beside=True, sample_seed=seed)) < 30
    for mark, many in {"either_database": 8, "rare": 80}.items():
        assert set.union(*(names(mark, beside=True, sample_seed=seed) for seed in range(many))) == names(mark)
