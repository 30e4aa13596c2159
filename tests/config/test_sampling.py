"""A sample of a family is the same everywhere, has its size, and holds each value of each parameter."""

from itertools import product
from types import SimpleNamespace
from typing import Any

from tests.sampling import Some, pytest_collection_modifyitems


def family(name: str, one_in: int | None, **parameters: list[str]) -> list[Any]:
    """The cases that pytest makes of a test with these parameters."""
    mark = one_in and SimpleNamespace(args=(one_in,))
    return [
        SimpleNamespace(
            name=f"{name}[{'-'.join(values)}]",
            originalname=name,
            parent=None,
            callspec=SimpleNamespace(params=dict(zip(parameters, values, strict=True))),
            get_closest_marker={"sampled": mark}.get,
        )
        for values in product(*parameters.values())
    ]


def collected(*, whole: bool = False, lf: bool = False, args: tuple[str, ...] = ("tests",)) -> dict[str, list[str]]:
    """The cases that are run, by the name of the test."""
    verbs, states = [f"verb {index}" for index in range(10)], [f"state {index}" for index in range(8)]
    items = [
        *family("two", 4, verb=verbs, state=states),
        *family("one", 5, state=[*verbs, *states]),
        *family("rare", 100, verb=verbs, state=states),
        *family("all", None, verb=verbs),
    ]
    left_out: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda *, items: left_out.extend(items))
    options = {"whole": whole, "lf": lf}
    config: Any = SimpleNamespace(args=args, hook=hook, getoption=lambda name, default=None: options[name.strip("-")])
    before = len(items)
    pytest_collection_modifyitems(config, items)
    assert len(items) + len(left_out) == before
    return {name: [each.name for each in items if each.originalname == name] for name in ("two", "one", "rare", "all")}


def test_a_sample_has_its_size_and_each_value() -> None:
    taken = collected()
    assert {name: len(cases) for name, cases in taken.items() if name != "rare"} == {"two": 20, "one": 4, "all": 10}
    for name in ("two", "rare"):
        assert {case.partition("[")[2].partition("-")[0] for case in taken[name]} == {f"verb {i}" for i in range(10)}
        assert {case.rstrip("]").partition("-")[2] for case in taken[name]} == {f"state {i}" for i in range(8)}
    assert len(taken["rare"]) < 20
    assert collected() == taken


def test_the_whole_is_run_and_so_is_what_is_asked_for_by_name() -> None:
    whole = collected(whole=True)
    assert [len(cases) for cases in whole.values()] == [80, 18, 80, 10]
    assert whole == collected(args=("tests/x.py::two[verb 1-state 1]",)) == collected(lf=True)


def test_a_test_that_goes_through_its_cases_itself_takes_a_part_of_them() -> None:
    assert Some(is_whole=False)(range(10), one_in=3, first=4) == [1, 4, 7]
    assert Some(is_whole=True)(range(10), one_in=3, first=4) == list(range(10))
