"""One row of the table for the assistant, whose image every machine has. `tests/agents` tests the rest of it."""

import pytest

from tests.agents.long.table import test_it_answers_stops_and_remembers

__all__ = ["test_it_answers_stops_and_remembers"]

pytestmark = [pytest.mark.docker, pytest.mark.one_database]
