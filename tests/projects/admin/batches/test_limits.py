"""A batch counts once as a command of its member of staff, who can still stop it and suspend others meanwhile."""

from typing import Any

import pytest
from django.test import Client

from projects.models import Batch, Project
from tests.accounts.throttling.rate_limiting import Clock
from tests.projects.admin.batches.pages import begin, choose, states, step

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("_one_a_step")]


@pytest.fixture(autouse=True)
def _one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", Clock())


@pytest.fixture
def limit(settings: Any) -> Any:
    def limit(**each: int) -> None:
        settings.BERTH_LIMITS = {"reads": 600, "commands": 60, "deploys": 20} | each

    return limit


def test_the_steps_of_a_batch_use_up_no_commands(admin: Client, three: list[Project], limit: Any) -> None:
    limit(commands=2)
    page = begin(admin, "stop", three[:2])
    assert [step(admin, page).status_code for _ in range(2)] == [200, 200]
    assert states() == ["done", "done"]
    assert choose(admin, "suspend", three[2:]).status_code == 302
    assert Project.objects.get(pk=three[2].pk).suspended_at


def test_a_batch_can_always_be_stopped(admin: Client, three: list[Project], limit: Any) -> None:
    page = begin(admin, "stop", three)
    limit(reads=0, commands=0, deploys=0)
    assert admin.post(page, {"do": "stop"}).status_code == 302
    assert Batch.objects.get().is_stopped


@pytest.mark.parametrize("form", [{"do": "again"}, {"do": "resume"}, {"do": "take"}, {"do": "x"}, {}], ids=str)
@pytest.mark.parametrize("by_script", [True, False])
def test_everything_else_on_its_page_counts(
    admin: Client, three: list[Project], limit: Any, form: dict[str, str], by_script: bool
) -> None:
    page, headers = begin(admin, "stop", three), {"HX-Request": "true"} if by_script else {}
    limit(reads=0, commands=0)
    refused = admin.post(page, form, headers=headers)
    assert refused.status_code == 429
    assert f'"{"reads" if by_script and not form else "commands"}"' in refused["RateLimit"]
    assert states() == ["waiting"] * 3
