"""Everything that the documents tell people to type exists: commands, their options, variables, files."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.paths import ROOT

DOCUMENTS = (
    "README.md", "SECURITY.md", "CONTRIBUTING.md", "UPGRADING.md", "tests/README.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
)  # fmt: skip
FOLDERS = ("config", "accounts", "projects", "containers", "templates", "tests", "docs")
SOURCES = [path for folder in FOLDERS[:4] for path in (ROOT / folder).rglob("*.py")]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def pieces_of(document: str) -> Iterator[str]:
    """Returns the texts in backticks, and each line of the shell blocks."""
    text = (ROOT / document).read_text()
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def split(piece: str) -> list[str]:
    try:
        return shlex.split(piece.partition(" # ")[0].partition(" | ")[0])
    except ValueError:
        return piece.split()


WORDS = [(document, split(piece)) for document in DOCUMENTS for piece in pieces_of(document)]


def find_commands() -> Iterator[tuple[str, list[str]]]:
    """Returns each `manage.py`, `config/bin/manage`, `make` and `python -m` with the words after it."""
    for _, words in WORDS:
        for place, word in enumerate(words[:-1]):
            program = "manage.py" if word == "config/bin/manage" else word.rpartition("/")[2]
            if program in {"manage.py", "make"} or (word == "-m" and "python" in words[place - 1]):
                yield program, words[place + 1 :]


COMMANDS = sorted({(program, tuple(words)) for program, words in find_commands()})


def test_there_are_commands() -> None:
    assert {program for program, _ in COMMANDS} == {"manage.py", "make", "-m"}
    assert len(COMMANDS) >= 15


@pytest.mark.parametrize(
    ("program", "words"), COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value
)
def test_a_command_of_the_documents_is_there(program: str, words: tuple[str, ...]) -> None:
    name, *arguments = words
    options = [word.partition("=")[0] for word in arguments if word.startswith("--")]
    if program == "make":
        assert name in TARGETS
    elif words == ("version",):
        assert (
            '["version"]' in (ROOT / "config/management/command_line.py").read_text()
        )  # which answers it before Django could
    elif program == "manage.py":
        command = load_command_class(get_commands()[name], name)
        known = command.create_parser("manage.py", name)._option_string_actions
        assert set(options) <= set(known)
    elif name == "pytest":
        paths = [word for word in arguments if "/" in word and not word.startswith("-")]
        assert [path for path in paths if not (ROOT / path).exists()] == []
        own = "".join(path.read_text() for path in (ROOT / "tests").rglob("conftest.py"))
        assert [option for option in options if f'"{option}"' not in own] == []
    else:
        found = importlib.util.find_spec(name)
        assert found is not None
        source = Path(found.origin or "").read_text()
        assert [option for option in options if f'"{option}"' not in source] == []


VARIABLES = sorted(
    {
        name
        for document in DOCUMENTS
        for name in re.findall(r"\bBERTH_[A-Z]+(?:_[A-Z]+)*", (ROOT / document).read_text())
    }
)


def test_a_variable_of_the_documents_is_read() -> None:
    sources = "".join(path.read_text() for path in SOURCES) + "".join(
        path.read_text() for path in (ROOT / "config" / "bin").iterdir()
    )
    assert len(VARIABLES) >= 25
    unread = [name for name in VARIABLES if not re.search(rf"\b{name.removesuffix('_FILE')}\b", sources)]
    assert unread == []


def test_a_file_of_the_documents_is_there() -> None:
    """Files named with their folder, from the root or from the folder of the table; not files of the data directory."""
    named = {
        word
        for _, words in WORDS
        for word in words
        if re.fullmatch(r"(?:[\w.-]+/)+[\w.-]+\.(?:py|md|json|css|sh)", word)
    }
    named = {name for name in named if not name.startswith("var/")}
    assert len(named) >= 15
    everywhere = [path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
    assert [name for name in sorted(named) if not any(f"/{path}".endswith(f"/{name}") for path in everywhere)] == []


def test_the_page_of_settings_has_every_variable_that_is_read() -> None:
    read = set(re.findall(r'env\.\w+\(\s*"(\w+)"', (ROOT / "config/settings.py").read_text()))
    assert len(read) > 20
    assert read - set(re.findall(r"`(\w+)`", (ROOT / "docs/configuration.md").read_text())) == set()
