"""Modules and functions are short enough to be read at once, and give a reason for each exemption from a check."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

LONGEST = 200
"""Lines of a module. Longer ones usually have two subjects."""

LONGEST_FUNCTION = 30
"""Lines of a function of the product, without its docstring: what a reader has to keep in mind."""

HOUSE = ("accounts", "config", "containers", "projects", "tests")
MODULES = [*ROOT.glob("*.py"), *(module for part in HOUSE for module in sorted((ROOT / part).rglob("*.py")))]

MAY_BE_LONGER = {
    "config/settings.py": "Operators look for all settings in one place, by the reader of each.",
}
"""Modules that may have more lines, with the reason. So may migrations, which Django writes."""

DIRECTIVE = re.compile(
    r"#\s*(?:noqa|nosec|type:\s*ignore|pragma:\s*no\s*cover|(?:ruff|flake8|mypy|pylint):)", re.IGNORECASE
)
"""How a comment begins that exempts from a check."""

ARGUMENTS = re.compile(
    r"#\s*(?:noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?|nosec(?:\s+B\d+(?:,\s*B\d+)*)?"
    r"|type:\s*ignore(?:\[[\w\-, ]+\])?|pragma:\s*no\s*cover|(?:ruff|flake8|mypy|pylint):[^#]*)",
    re.IGNORECASE,
)
"""The same with the names of the checks: the rest of the comment is the reason."""


def name_of(module: Path) -> str:
    return module.relative_to(ROOT).as_posix()


def functions_of(module: Path) -> Iterator[tuple[str, int]]:
    """Returns each function with its number of lines from `def` to its end, without its docstring."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) is not None else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - documented


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    """Returns each comment with the number of its line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def unexplained_in(source: str) -> list[int]:
    """Returns the numbers of the lines whose comments exempt from a check without a reason."""
    if DIRECTIVE.search(source) is None:  # most modules need not be tokenized
        return []
    return [
        number
        for number, comment in comments_of(source)
        if DIRECTIVE.match(comment) and not re.search(r"[^\W\d_]{2}", ARGUMENTS.sub("", comment))
    ]


def test_no_module_is_longer_than_a_reader_likes() -> None:
    read = [module for module in MODULES if "migrations" not in module.parts]
    lengths = {name_of(module): module.read_text().count("\n") for module in read}
    too_long = {name: length for name, length in lengths.items() if length > LONGEST}
    assert sorted(too_long) == sorted(MAY_BE_LONGER), f"Split by subject what has more than {LONGEST} lines: {too_long}"


def test_no_function_of_the_product_is_longer_than_a_reader_likes() -> None:
    product = [module for module in MODULES if not {"migrations", "tests"} & set(module.relative_to(ROOT).parts)]
    too_long = {
        f"{name_of(module)} {name}": length
        for module in product
        for name, length in functions_of(module)
        if length > LONGEST_FUNCTION
    }
    assert too_long == {}, f"Split what has more than {LONGEST_FUNCTION} lines by what its parts are for."


def test_a_function_counts_from_its_name_to_its_end_without_its_docstring(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        'def outer():\n    """Says\n\n    much."""\n\n    async def inner(\n        a,\n    ):\n        return a\n'
    )
    assert dict(functions_of(module)) == {"outer": 6, "inner": 4}


def test_every_exemption_from_a_check_has_a_reason() -> None:
    unexplained = [f"{name_of(module)}:{line}" for module in MODULES for line in unexplained_in(module.read_text())]
    assert unexplained == [], "Write the reason behind it: `# noqa: B018 - imports every view`."


@pytest.mark.parametrize(
    "comment",
    [
        "noqa", "noqa: F401", "noqa:F401,E402", "NOQA: F401, E402", "noqa: F401  # nosec B404", "nosec", "nosec B404",
        "type: ignore", "type:ignore[arg-type]", "type: ignore[arg-type, misc]", "type: ignore[misc]  # noqa: E501 -",
        "pragma: no cover", "ruff: noqa", "ruff: noqa: F401", "mypy: ignore-errors", "pylint: disable=all",
    ],
)  # fmt: skip
def test_an_exemption_without_a_reason_is_found(comment: str) -> None:
    assert unexplained_in(f"x = 1\ny = 2  # {comment}\n") == [2]


@pytest.mark.parametrize(
    "comment",
    [
        "noqa: F401 - registers Group", "type: ignore[misc]  # has no types", "noqa: S603  # nosec B603 - a list",
        "nosec B404 - its purpose", "pragma: no cover - only where there is no kernel", "a comment", "see `noqa`",
    ],
)  # fmt: skip
def test_an_exemption_with_a_reason_is_accepted(comment: str) -> None:
    assert unexplained_in(f"x = 1\ny = 2  # {comment}\n") == []


def test_text_in_a_string_is_no_exemption() -> None:
    assert unexplained_in('x = "# noqa"\n') == []
