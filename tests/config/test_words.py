"""Product and documents are written in plain English, with the field's standard terms."""

import re
from pathlib import Path

import pytest

from tests.paths import ROOT

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "compose.yaml",
    *sorted((ROOT / "templates").rglob("*.html")),
    *sorted((ROOT / "templates").rglob("*.txt")),
]
PRODUCT = [
    path
    for folder in ("accounts", "config", "containers", "projects")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "migrations" not in path.parts
]
STATIC = [*sorted((ROOT / "config/static/berth").glob("*.js")), *sorted((ROOT / "config/static/berth").glob("*.css"))]

VAGUE = re.compile(r"\b(whoever|whomever|whatever|whichever|wherever|anew|such a one)\b", re.IGNORECASE)
"""They leave open who or what is meant, or nobody says them. Name it, or write “any”, “no matter which” or “again”."""

REPLACED = re.compile(
    r"\b(glance|EngineLine|_Line|half_signed_in|short_lived|announcing|Household|live_in|_care_for_watcher|sealing"
    r"|seal_credentials|open_credential|check_credentials|to_wanted|suspects|_Hall|Ahead|look_ahead|read_facts)\b"
)
"""Invented names that a standard term has replaced."""

PRIVATE = re.compile(r"\b(mend(s|ed|ing)?|rooms)\b", re.IGNORECASE)
"""Words of ours that nobody else would say so: it repairs, and they are packages."""

FOR_USERS = [path for path in DOCUMENTS if path.name != "CONTRIBUTING.md"]

pytestmark = pytest.mark.one_database


def lines_with(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT).as_posix()}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]


def test_there_is_something_to_read() -> None:
    assert len(DOCUMENTS) > 40
    assert len(PRODUCT) > 300


def test_no_sentence_for_users_and_operators_is_vague() -> None:
    assert lines_with(VAGUE, DOCUMENTS) == []


def test_no_comment_is_vague() -> None:
    assert lines_with(VAGUE, [*PRODUCT, *STATIC]) == []


def test_texts_for_users_and_operators_have_no_private_word() -> None:
    assert lines_with(PRIVATE, FOR_USERS) == []


def test_no_name_is_back_that_a_standard_term_has_replaced() -> None:
    assert lines_with(REPLACED, PRODUCT) == []
