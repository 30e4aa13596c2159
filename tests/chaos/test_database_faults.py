"""A few of the cells of `tests.chaos.database.cells`, by chance: two faults, under every kind of request."""

import pytest

from tests.chaos.database.postgres import find_programs
from tests.chaos.sampling import try_sample

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_programs() is None, reason="PostgreSQL is not installed."),
]


def test_every_kind_of_request_survives_some_faults_of_the_database() -> None:
    """The seed is in the output: `python -m tests.chaos.database.cells --sample 2 --seed …` takes the same ones."""
    try_sample("tests.chaos.database.cells")
