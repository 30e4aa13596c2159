"""`ASVS.md` names existing tests, and at least one for each promise of SECURITY.md."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT, TESTS

TABLE = (Path(__file__).parent / "ASVS.md").read_text()
ROWS = re.findall(r"^\| (\d+\.\d+\.\d+) \| ([123]) \| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)
ROWS_OF_PROMISES = re.findall(r"^\| ([^|]*) \| ([^|]*) \| ((?:`[\w/]+\.py::\w+`\s?)+) \|$", TABLE, re.MULTILINE)
PROMISED = (ROOT / "SECURITY.md").read_text().partition("## What is promised")[2].partition("\n## ")[0]
PROMISES = [
    promise.replace("\n  ", " ") for promise in re.findall(r"^- \*\*(.+?)\*\*", PROMISED, re.MULTILINE | re.DOTALL)
]
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", TABLE)))


@cache
def functions_of(file: str) -> set[str]:
    path = TESTS / file
    tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_exists(file: str, test: str) -> None:
    assert test.startswith("test_")
    assert test in functions_of(file)


def test_each_requirement_appears_once_and_names_a_test() -> None:
    numbers = [number for number, *_ in ROWS]
    assert len(numbers) == len(set(numbers)) >= 50
    assert numbers == sorted(numbers, key=lambda number: [int(part) for part in number.split(".")])
    assert [number for number, _, _, tests in ROWS if not re.fullmatch(r"(`[\w/]+\.py::\w+`\s?)+", tests.strip())] == []


def test_each_promise_names_its_tests() -> None:
    """A promise without a test is withdrawn, or gets one."""
    assert len(PROMISES) == len(re.findall(r"^- ", PROMISED, re.MULTILINE)) >= 25
    assert sorted(promise for promise, _, _ in ROWS_OF_PROMISES if promise) == sorted(PROMISES)


def test_each_row_of_a_promise_is_parsed() -> None:
    table = TABLE.partition("| promise | clause | tests |")[2].strip().splitlines()[1:]
    assert len(table) == len(ROWS_OF_PROMISES)


def test_a_missing_test_would_be_noticed() -> None:
    assert "test_that_nobody_wrote" not in functions_of("security/test_asvs.py")
    assert functions_of("security/no_such_file.py") == set()
