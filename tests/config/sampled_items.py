"""Tests as pytest collects them, and its options, as far as samples look at them."""

from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

ROLLED_BACK = SimpleNamespace(kwargs={})
MARKS: dict[str, dict[str, SimpleNamespace]] = {
    "no database": {},
    "left whole": {"every_case": SimpleNamespace(args=()), "django_db": ROLLED_BACK},
    "committing": {"django_db": SimpleNamespace(kwargs={"transaction": True})},
    "rolled back": {"django_db": ROLLED_BACK},
    "sampled": {"django_db": ROLLED_BACK, "sampled": SimpleNamespace(args=(2,))},
}


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
            nodeid=f"tests/test_families.py::{name}[{'-'.join(values)}]",
            callspec=SimpleNamespace(params=dict(zip(parameters, values, strict=True))),
            get_closest_marker=marks.get,
        )
        for values in product(*parameters.values())
    ]


def without_parameters(
    module: ModuleType, place: str = "tests/test_families.py", mark: str = "rolled back"
) -> list[Any]:
    return [
        SimpleNamespace(
            name=f"test {number}", nodeid=f"{place}::test {number}", parent=None,
            path=Path(place), module=module, get_closest_marker=MARKS[mark].get,
        )
        for number in range(30)
    ]  # fmt: skip


def configured(args: tuple[str, ...] = ("tests",), left_out: list[Any] | None = None, **given: bool | int) -> Any:
    hook = SimpleNamespace(pytest_deselected=lambda *, items: [] if left_out is None else left_out.extend(items))
    options = {"whole": False, "lf": False, "sample_seed": 0, "only_database": False, "beside": False} | given
    return SimpleNamespace(
        args=args, hook=hook, getoption=lambda name, default=None: options[name.strip("-").replace("-", "_")]
    )
