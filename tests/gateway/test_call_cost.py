"""A call whose agent hung up counts by what the provider has sent by then."""

import pytest
from gateway.budgets.changes import Reservation
from gateway.meters.openai import ChatMeter
from gateway.meters.usage import Usage
from gateway.pipes.draining import Drained
from gateway.providers.call_cost import CallCost

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("drained", "usage", "is_error"),
    [
        (Drained.COMPLETE, Usage(7, 5), False),
        (Drained.INCOMPLETE, Usage(7, 5, is_estimated=True), True),
        (Drained.ENDLESS, Usage(90, 60, is_estimated=True), True),
    ],
)
def test_only_an_incomplete_answer_is_an_error_if_its_agent_hung_up(
    drained: Drained, usage: Usage, is_error: bool
) -> None:
    cost = CallCost(Reservation(1, "project", 0, "model-a", 90, 60, 0))
    cost.mark_sent()
    meter = ChatMeter()
    meter.usage = Usage(7, 5)
    cost.mark_abandoned(meter, drained)
    assert (cost.usage, cost.is_error) == (usage, is_error)
