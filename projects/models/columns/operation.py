"""The columns of the operation in flight. Either all of them are set or none."""

from datetime import datetime
from typing import Any
from uuid import UUID

from accounts import clock
from projects.models.processes.holder import name_holder
from projects.rules.status.lifecycle import Operation


def in_flight(operation: Operation, claim_id: UUID, *, until: datetime) -> dict[str, Any]:
    """Returns the columns of a row on which this process works."""
    return {
        "operation": operation,
        "operation_id": claim_id,
        "operation_deadline": until,
        "operation_holder": name_holder(claim_id),
    }


def at_rest() -> dict[str, Any]:
    """Returns the columns of a row without an operation, as of now."""
    return {
        "operation": Operation.NONE,
        "operation_id": None,
        "operation_deadline": None,
        "operation_holder": "",
        "updated_at": clock.now(),
    }
