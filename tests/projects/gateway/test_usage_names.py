"""Agents name the models: any name can be stored, and many names make few rows."""

import pytest

from containers.gateway.usage_pages import UsagePage, UsageRow
from projects.models import Gateway, HourlyUsage, Project
from projects.models.figures.usage import COUNTS, LONGEST_MODEL, MOST_MODELS
from projects.services.gateway.provisioning import ensure_gateway
from projects.watcher.gateway import usage
from projects.watcher.gateway.usage import name_model
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.counting import read, sums, this_hour

pytestmark = [pytest.mark.django_db, pytest.mark.every_case]


@pytest.mark.parametrize(
    "name",
    ["nul\x00in it", "a\nline", "x" * (LONGEST_MODEL + 1), "\u202egpt", "", "org/model:free", "é" * 300],
)
def test_any_name_of_a_model_can_be_stored(
    engine: MemoryEngine, project: Project, gateway: MemoryGateway, name: str
) -> None:
    gateway.use(str(project.pk), model=name, input=1)
    gateway.use(str(project.pk), model=name + "\x01", input=2)
    assert read(engine) == 2
    assert sums() == {"input": 3}
    assert len(name_model(name)) <= LONGEST_MODEL


def test_a_model_name_that_is_no_text_is_replaced() -> None:
    """No gateway sends one, but the stored data must not depend on that."""
    assert name_model("lone \ud800 surrogate").startswith("lone \ufffd surrogate ")
    assert name_model("\ud800") != name_model("\ud801")


def test_an_agent_with_ten_thousand_model_names_creates_few_rows(project: Project) -> None:
    ensure_gateway()
    blank = dict.fromkeys(COUNTS, 0)
    for turn in range(3):
        rows = [
            UsageRow(str(project.pk), this_hour(), f"m{turn}-{number}", **{**blank, "requests": 1, "errors": 1})
            for number in range(900)
        ]
        paid = UsageRow(str(project.pk), this_hour(), f"paid-{turn}", **{**blank, "output": 5})
        usage._take_over(Gateway.objects.get(), UsagePage("s", turn + 1, (*rows, paid), has_more=False))
    assert HourlyUsage.objects.count() <= MOST_MODELS + 3
    assert sums()["output"] == 15


def test_counts_that_no_database_holds_are_cut(project: Project) -> None:
    ensure_gateway()
    row = UsageRow(str(project.pk), this_hour(), "gpt", **dict.fromkeys(COUNTS, 10**30))
    usage._take_over(Gateway.objects.get(), UsagePage("s" * 99, 1, (row,), has_more=False))
    assert sums()["input"] == 2**53
