"""Runs commands as an operator types them, in a separate data directory."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN
from tests.clients import api_of
from tests.config.backup.files import FILES
from tests.config.backup.rows import fill_every_table
from tests.deploying import PROJECT, create_project
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state
from tests.ports import reserve_port
from tests.security.populated_service import add_to_quarantine

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Settings) -> Path:
    """The data directory, which also contains the archive."""
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


@pytest.fixture
def volumes(engine: MemoryEngine) -> list[str]:
    """The volumes of two running agents and of one in quarantine, each with some data."""
    alice = fill_every_table()
    create_project(api_of(alice), {**PROJECT, "telegramToken": CANARY_OTHER_TELEGRAM_TOKEN})
    add_to_quarantine(engine, alice)
    found = sorted(volume for volume in engine.volumes if volume.endswith("-data"))
    for number, volume in enumerate(found):
        engine.states[volume] = pack_state(FILES | {"who": str(number)})
    return found
