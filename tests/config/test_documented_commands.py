"""Each command in the documents exists: scripts, targets of make, commands of manage.py with their options, modules."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.paths import ROOT

pytestmark = pytest.mark.one_database

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "tests").rglob("*.md")),
]
CODE = re.compile(r"^```[a-z]*\n(.*?)^```|(`+)(.+?)\2", re.MULTILINE | re.DOTALL)
MANAGE = re.compile(r"(?<![\w/-])(?:config/bin/manage|manage\.py)((?: +[A-Z_]+=\S*)*) +([^\s|;&>)#][^\n|;&>)#]*)")
PLACES = {
    "make": r"(?:^|[ (\n])make ([a-z][\w-]*)",
    "script": r"\bconfig/bin/([a-z][\w.-]*)",
    "module": r"-m (tests\.[\w.]+)",
}


def code_of(document: Path) -> list[str]:
    """The blocks and spans of code, with continued lines joined."""
    found = [match[1] or match[3] for match in CODE.finditer(document.read_text())]
    return [each.replace("\\\n", " ") for each in found]


def documented(pattern: str | re.Pattern[str]) -> Iterator[tuple[str, "re.Match[str]"]]:
    for document in DOCUMENTS:
        for code in code_of(document):
            for match in re.finditer(pattern, code):
                yield str(document.relative_to(ROOT)), match


def options_of(parser: argparse.ArgumentParser, words: list[str]) -> set[str]:
    """The options of a command, and those of the subcommand that the words name. Raises `KeyError` for a wrong one."""
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            named = [word for word in words if not word.startswith("-")]
            inner = [action.choices[named[0]]] if named else list(action.choices.values())
            found |= {option for each in inner for option in options_of(each, named[1:])}
    return found


def test_the_commands_are_found() -> None:
    assert len({match[2].split()[0] for _, match in documented(MANAGE)}) > 10
    assert len({match[1] for _, match in documented(PLACES["make"])}) > 5


def test_each_command_of_manage_has_the_options_that_are_documented() -> None:
    commands, wrong = get_commands(), []
    for document, match in documented(MANAGE):
        name, *words = re.sub(r"[\"'`,.]+(?= |$)", "", match[2]).split()
        if name.isupper() or not re.fullmatch("[a-z_]+", name):
            continue
        if name not in commands:
            wrong.append((document, name))
            continue
        parser = load_command_class(commands[name], name).create_parser("manage.py", name)
        try:
            options = options_of(parser, words)
        except KeyError as error:
            wrong.append((document, f"{name} {error}"))
            continue
        used = {word.partition("=")[0].strip("[]\"'") for word in words if re.match(r"\[?--[a-z]", word)}
        wrong += [(document, f"{name} {option}") for option in sorted(used - options)]
    assert wrong == []


def test_each_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {(document, match[1]) for document, match in documented(PLACES["make"]) if match[1] not in targets} == set()


def test_each_script_and_module_exists() -> None:
    scripts = {path.name for path in (ROOT / "config/bin").iterdir()}
    assert {(place, match[1]) for place, match in documented(PLACES["script"]) if match[1] not in scripts} == set()
    for document, match in documented(PLACES["module"]):
        module = ROOT / match[1].replace(".", "/")
        assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file(), (document, match[1])


def test_operators_are_told_the_script_that_reads_the_service_s_settings() -> None:
    """`python manage.py` would use another database than the service. In a container there is no such script's need."""
    for document in [ROOT / "README.md", ROOT / "UPGRADING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for line in document.read_text().splitlines():
            assert "python manage.py" not in line or "docker" in line, f"{document.name}: {line[:150]}"
