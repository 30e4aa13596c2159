"""A cell of `tests.chaos.database.cells`, another one for each commit: a fault, with every kind of request."""

import pytest

from tests.chaos.database.postgres import find_programs
from tests.chaos.sampling import try_sample

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_programs() is None, reason="PostgreSQL is not installed."),
]


@pytest.mark.rare(3)
def test_every_kind_of_request_survives_some_faults_of_the_database(pytestconfig: pytest.Config) -> None:
    """`python -m tests.chaos.database.cells --sample 1 --seed …` takes the same one."""
    try_sample("tests.chaos.database.cells", pytestconfig)
