"""The id of this installation."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from projects.models.installation import Installation, read_installation, read_installation_id

pytestmark = pytest.mark.django_db


def test_the_first_read_of_the_id_creates_it_and_later_reads_take_one_narrow_query() -> None:
    Installation.objects.all().delete()
    created = read_installation_id()
    assert created == read_installation().identifier
    with CaptureQueriesContext(connection) as queries:
        assert read_installation_id() == created
    (only,) = queries.captured_queries
    assert "held_because" not in only["sql"]


def test_a_changed_id_is_read() -> None:
    read_installation_id()
    Installation.objects.update(identifier="f" * 32)
    assert read_installation_id() == "f" * 32
