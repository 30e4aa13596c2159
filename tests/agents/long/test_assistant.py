"""One row of the table, of the type whose image every machine has. `tests/agents` asks its program the others."""

import pytest

from tests.agents.long.table import test_it_answers_stops_and_remembers

__all__ = ["test_it_answers_stops_and_remembers"]

pytestmark = [pytest.mark.docker, pytest.mark.one_database]
