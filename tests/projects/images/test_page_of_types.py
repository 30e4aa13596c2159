"""`docs/agent-types.md`: the admin accepts the row that it describes, and it names every placeholder."""

import re
from typing import Any

import pytest

from accounts.models import User
from containers.engine.images import CAPABILITIES_LABEL, CONTRACT_LABEL, Capability
from projects.models import AgentType
from projects.rules.settings.schema import defaults_of
from projects.rules.type_facts import PLACES, fill_variables
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "agent-types.md").read_text()

VARIABLES = 1
"""The number of the text block with the variables. The first one is the output of a trial."""

pytestmark = pytest.mark.one_database


def block(language: str, number: int = 0) -> str:
    """Returns the code block of this language with this number, counted from 0."""
    return str(re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[number])


def fields_of_the_row() -> dict[str, Any]:
    """Returns what the page says to enter into the admin's form."""
    rows = dict(re.findall(r"^\| ([\w ()]+) \| `([^`]+)` \|$", PAGE, re.MULTILINE))
    return {
        "slug": "stub", "title": "Stub", "image": rows["Image"], "description": rows["Description"],
        "needs_telegram_token": "on", "available": "on", "egress": "internet",
        "min_memory_mb": rows["Minimum memory (MB)"], "stop_timeout": rows["Stop timeout"], "ready_timeout": "90",
        "settings_schema": block("json"), "variables": block("text", VARIABLES),
    }  # fmt: skip


def test_the_admin_accepts_the_row_of_the_page(ada: User, engine: MemoryEngine) -> None:
    assert browser_of(ada).post("/admin/projects/agenttype/add/", fields_of_the_row()).status_code == 302
    row = AgentType.objects.get(pk="stub")
    assert not row.needs_api_key
    filled = fill_variables(row.variables, facts=dict.fromkeys(PLACES, ""), settings=defaults_of(row.settings_schema))
    assert filled == {"GREETING": "Ahoy"}


def test_the_page_names_every_place_every_capability_and_both_labels() -> None:
    quoted = set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)))
    assert {f"{{{place}}}" for place in PLACES} <= quoted
    assert set(Capability) <= quoted
    assert {CAPABILITIES_LABEL, f'{CONTRACT_LABEL}="1"'} <= quoted
