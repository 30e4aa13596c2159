"""The data directory of commands that are broken off."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from tests.ports import reserve_port


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    settings.BERTH_DATA_DIR = tmp_path
    settings.BERTH_PORT = reserve_port()
    yield tmp_path
    connection.close()
