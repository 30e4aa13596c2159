from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.utils.connection import ConnectionProxy

connection: Any = ConnectionProxy(connections, "default")


@pytest.fixture
def other() -> Iterator[psycopg.Connection[Any]]:
    """A connection to the same database, outside of the service."""
    parameters = connection.get_connection_params()
    chosen = {name: parameters[name] for name in ("dbname", "user", "host", "port") if name in parameters}
    with psycopg.connect(**chosen, autocommit=True) as made:
        yield made
