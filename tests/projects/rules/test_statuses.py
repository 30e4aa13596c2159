"""The table of statuses is complete, and whatever repeats it agrees."""

import re
from collections import Counter
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from projects.rules.status.lifecycle import Action, Operation
from projects.rules.status.statuses import TRAITS, Status
from projects.rules.status.traits import Condition, Look

ROOT = Path(__file__).resolve().parents[3]
STYLES = (ROOT / "config/static/berth/berth.css").read_text()
API_PAGE = (ROOT / "docs/api.md").read_text()


def test_every_status_has_a_row() -> None:
    assert list(TRAITS) == list(Status)


def test_every_running_operation_has_one_status() -> None:
    in_flight = Counter(traits.in_flight for traits in TRAITS.values() if traits.in_flight)
    assert in_flight == {operation: 1 for operation in Operation if operation}


@pytest.mark.parametrize("status", Status)
def test_no_status_with_an_operation_in_flight_is_settled(status: Status) -> None:
    assert not (status.traits.in_flight and status.traits.is_settled)


@pytest.mark.parametrize("status", Status)
def test_the_meaning_of_a_status_is_a_sentence(status: Status) -> None:
    assert re.fullmatch(r"[A-Z].+\.", status.traits.meaning)


@pytest.mark.parametrize("status", Status)
def test_no_button_starts_a_running_agent_or_stops_a_stopped_one(status: Status) -> None:
    assert status.traits.condition != Condition.UP or Action.START not in status.traits.buttons
    assert status.traits.condition != Condition.DOWN or Action.STOP not in status.traits.buttons


@pytest.mark.parametrize("look", Look)
def test_each_appearance_has_one_css_rule_and_an_icon(look: Look) -> None:
    rules = re.findall(rf"\.status\.{look}\b[^{{]*{{([^}}]*)}}", STYLES)
    assert len(rules) == 1
    icon = re.search(r'--icon: url\("([^"]+)"\)', rules[0])
    assert icon
    assert (ROOT / "config/static/berth" / icon[1]).is_file()


def test_the_style_sheet_has_no_other_appearance_and_names_no_status() -> None:
    assert set(re.findall(r"\.status\.([\w-]+)", STYLES)) == set(Look)
    assert {status.traits.look for status in Status} == set(Look)


@pytest.mark.parametrize("status", Status)
def test_each_level_of_a_reason_is_a_level_of_messages(status: Status) -> None:
    level = status.traits.reason_level
    assert level == "info" or f".message.{level} {{" in STYLES


def test_the_table_in_the_documents_agrees() -> None:
    section = API_PAGE.partition("## What a status means")[2].partition("\n## ")[0]
    rows = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in section.splitlines() if "| `" in line]
    assert rows == [(f"`{status}`", status.traits.meaning, status.traits.next_step) for status in Status]


@pytest.mark.parametrize(
    ("folder", "names"),
    [("templates", set(Status.values)), ("config/static/berth", set(Status.values) - {look.value for look in Look})],
)
def test_pages_styles_and_scripts_name_no_status(folder: str, names: set[str]) -> None:
    name = re.compile(rf"""["'.]({"|".join(names)})["'\s,{{)]""")
    sources = [path for path in (ROOT / folder).rglob("*") if path.suffix in {".html", ".css", ".js"}]
    assert sources
    assert {path.name: found for path in sources if (found := name.findall(path.read_text()))} == {}


def test_no_module_but_the_table_lists_statuses() -> None:
    """Nothing would remind the author of a new status of such a list. Use a column of the table instead."""
    lists = re.compile(r"[{(\[]\s*(Status\.[A-Z]+,\s*)+(Status\.[A-Z]+)?\s*,?\s*[})\]]")
    sources = [
        path
        for folder in ("accounts", "config", "containers", "projects")
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts and path.name not in {"statuses.py", "derivation.py"}
    ]
    assert len(sources) > 300
    assert [path.name for path in sources if lists.search(path.read_text())] == []


def test_the_openapi_document_lists_every_status(client: APIClient, db: None) -> None:
    schemas = client.get("/api/schema", headers={"Accept": "application/json"}).json()["components"]["schemas"]
    lists = [set(schema["enum"]) for schema in schemas.values() if "running" in schema.get("enum", [])]
    assert lists == [set(Status)]
