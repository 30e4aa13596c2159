"""`docs/agent-types.md`: the row that it describes is one that the admin takes, and it names every place in braces."""

import json
import re

import pytest

from containers.engine_images import CAPABILITIES_LABEL, CONTRACT_LABEL, Capability
from projects.models import AgentType
from projects.rules.schema_settings import defaults_of
from projects.rules.type_facts import PLACES, fill_variables
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "agent-types.md").read_text()

pytestmark = pytest.mark.one_database


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_row_of_the_page_is_one_that_the_admin_takes(db: None) -> None:
    rows = dict(re.findall(r"^\| ([\w ()]+) \| `([^`]+)` \|$", PAGE, re.MULTILINE))
    row = AgentType(
        slug="stub", title="Stub", image=rows["Image"], description=rows["Description"], needs_api_key=False,
        min_memory_mb=int(rows["Minimum memory (MB)"]), stop_timeout=int(rows["Stop timeout"]),
        settings_schema=json.loads(block("json")), variables=block("text"),
    )  # fmt: skip
    row.full_clean()
    filled = fill_variables(row.variables, facts=dict.fromkeys(PLACES, ""), settings=defaults_of(row.settings_schema))
    assert filled == {"GREETING": "Ahoy"}


def test_the_page_names_every_place_every_capability_and_both_labels() -> None:
    quoted = set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)))
    assert {f"{{{place}}}" for place in PLACES} <= quoted
    assert set(Capability) <= quoted
    assert {CAPABILITIES_LABEL, f'{CONTRACT_LABEL}="1"'} <= quoted
