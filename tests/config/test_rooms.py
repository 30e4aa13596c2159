"""Every package says what it is for, and every module has its floor in the import contracts."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT, TESTS

APPS = ("accounts", "config", "containers", "projects")
NAMED_BY_DJANGO = {"management", "commands", "migrations"}
"""Packages whose name and purpose are the same in every Django project."""

ROOMS = sorted(
    file.parent
    for app in APPS
    for file in (ROOT / app).rglob("__init__.py")
    if not NAMED_BY_DJANGO & set(file.parent.relative_to(ROOT).parts)
)


MOST_MODULES = 24
"""Modules of one package, not counting its packages.
One with more should be split, because nobody finds anything in it."""


def modules_of(room: str) -> set[str]:
    """Returns the names of the modules and packages directly below it."""
    children = [path for path in (ROOT / room).iterdir() if path.name != "__init__.py"]
    return {path.stem for path in children if path.suffix == ".py" or (path / "__init__.py").exists()}


def layers_contracts() -> dict[str, dict[str, Any]]:
    """Returns the contracts by the path of the package whose modules they order."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {
        contract["containers"][0].replace(".", "/"): contract
        for contract in settings["contracts"]
        if "containers" in contract
    }


ORDERED = sorted(layers_contracts())

TESTED_ELSEWHERE = {
    "accounts/admin_site": "tests/security",  # test_admin_*.py
    "config/api_docs": "tests/config/test_api_docs.py",
    "config/formats": "tests/browser",  # dates on the pages of the admin
    "config/templatetags": "tests/projects/dashboard/test_page_calls.py",
    "containers/engine": "tests/containers",  # the contract tests, which every engine passes
    "containers/trial_servers": "tests/containers/docker/test_trials.py",
    "projects/templatetags": "tests/projects/admin/test_overview.py",
}
"""Packages of an app whose tests are not in a folder of the same name, and where they are."""


def floors_of(contract: dict[str, Any]) -> list[set[str]]:
    """Returns the names on each floor, from the highest."""
    return [{name.strip() for name in layer.split("|")} for layer in contract["layers"]]


def drawn_floors() -> dict[str, list[set[str]]]:
    """Returns the same by package, from the picture in CONTRIBUTING.md,
    in which the name of a package ends with a slash."""
    picture = (ROOT / "CONTRIBUTING.md").read_text().partition("## The floor plan")[2].split("```")[1]
    drawn: dict[str, list[set[str]]] = {}
    for line in picture.splitlines():
        if title := re.match(r"([\w/]+)/ ", line):
            room = title[1]
            drawn[room] = []
        elif floor := re.fullmatch(r"  (\w+/?(?: · \w+/?)*)(?:   .*)?", line):
            drawn[room].append(set(floor[1].split(" · ")))
    return drawn


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(ROOT).as_posix())
def test_each_package_states_its_purpose_in_one_sentence(room: Path) -> None:
    """The first line ends with a full stop, and an empty line precedes anything more."""
    summary, *rest = (ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or "").split("\n")
    assert re.fullmatch(r"\S.{10,}\w\.", summary)
    assert rest[:1] in ([], [""])


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(ROOT).as_posix())
def test_each_package_has_a_limited_number_of_modules(room: Path) -> None:
    assert len(list(room.glob("*.py"))) - 1 <= MOST_MODULES


def test_each_package_of_an_app_has_a_folder_of_tests() -> None:
    packages = {
        f"{app}/{name}"
        for app in APPS
        for name in modules_of(app) - NAMED_BY_DJANGO
        if (ROOT / app / name / "__init__.py").exists()
    }
    assert {package for package in packages if not (TESTS / package).is_dir()} == TESTED_ELSEWHERE.keys()
    assert [place for place in TESTED_ELSEWHERE.values() if not (ROOT / place).exists()] == []


def test_every_test_of_projects_is_in_a_folder() -> None:
    """All modules of `projects` except its errors are in packages, too."""
    assert list((TESTS / "projects").glob("test_*.py")) == []


def test_every_app_has_a_contract() -> None:
    assert set(APPS) <= set(ORDERED)


@pytest.mark.parametrize("room", ORDERED)
def test_every_module_is_in_a_layer(room: str) -> None:
    contract = layers_contracts()[room]
    named = [name for floor in floors_of(contract) for name in floor]
    assert contract["type"] == "layers"
    assert contract["exhaustive"] is True
    assert sorted(named) == sorted(modules_of(room))


@pytest.mark.parametrize("room", ORDERED)
def test_the_floor_plan_in_the_document_is_that_of_the_contract(room: str) -> None:
    floors = floors_of(layers_contracts()[room])
    rooms = {name for name in modules_of(room) if (ROOT / room / name).is_dir()}
    assert drawn_floors()[room] == [{f"{name}/" if name in rooms else name for name in floor} for floor in floors]
