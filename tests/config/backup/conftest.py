"""Commands as an operator types them, in a data directory of their own."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tests.ports import reserve_port

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Settings) -> Path:
    """The data directory, in which there is also the archive."""
    settings.BERTH_DATA_DIR = tmp_path
    settings.BERTH_PORT = reserve_port()
    return tmp_path


@pytest.fixture
def archive(folder: Path) -> Path:
    return folder / "berth.tar"


@pytest.fixture
def run() -> Run:
    """Runs a command and returns what it prints."""

    def call(command: str, *arguments: Any) -> str:
        output = StringIO()
        call_command(command, *map(str, arguments), stdout=output, stderr=output)
        return output.getvalue()

    return call
