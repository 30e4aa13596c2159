"""A budget is not reached if a call was refused but a later one had room."""

from typing import Any

import pytest

from projects.models import Project
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.spending import Clock, shown

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("used", "after", "status"), [(705, 1, "running"), (705, -1, "degraded"), (1000, 1, "degraded")]
)
def test_a_later_call_that_fits_clears_the_reached_budget(
    limited: Project, use: Any, api: Any, time: Clock, gateway: MemoryGateway, used: int, after: int, status: str
) -> None:
    use(limited, used)
    key, refused_at = str(limited.pk), time.now.timestamp()
    gateway.see(key, budget_reached=refused_at, budget_period="day", budget_room=refused_at - 9)
    look_after_gateway()
    assert shown(api, limited, time)[0] == "degraded"
    gateway.see(key, budget_reached=None, budget_period=None, budget_room=refused_at + after)
    look_after_gateway()
    use(limited, 1)
    assert shown(api, limited, time)[0] == status
