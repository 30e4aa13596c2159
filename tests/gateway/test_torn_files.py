"""A usage file that is damaged when the gateway starts tells what was in flight and unread, if that is readable."""

import random
import shutil
import sqlite3
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.ledger import Ledger
from gateway.budgets.torn_file import TornFile
from gateway.budgets.writing.schema import SCHEMA

from tests.gateway.disk_faults import Service
from tests.gateway.test_damaged_files import LIMIT, NOW, checkpoint, entry, overwrite, set_aside, spend, spend_all
from tests.gateway.test_ledger import run

pytestmark = pytest.mark.one_database

NEEDED = ("reservations", "usage", "meta", "sqlite_schema")
"""The tables without which it is not known what was in flight or is unread."""


def leave(folder: Path, service: Service) -> int:
    """Kills a process. Returns what its agent had spent, or may still spend."""

    async def test(ledger: Ledger) -> None:
        await spend(ledger, 100, entry())
        await service.read(ledger)
        await service.read(ledger)
        await ledger.reserve(entry(), "n", input_tokens=0, min_output=50, max_output=50)
        await spend(ledger, 30, entry())
        await ledger._disk.run(lambda _: None)
        await ledger._disk.run(lambda _: shutil.copytree(folder / "one", folder / "two"), is_read=True)

    run(folder / "one", NOW, test)
    checkpoint(folder / "two" / "usage.sqlite3")
    return 180


def start(folder: Path, service: Service) -> int:
    """Returns what is left of the budget for the next process."""

    async def test(ledger: Ledger) -> int:
        await service.read(ledger)
        left = await spend_all(ledger, entry(service))
        ledger.close()
        await service.read(ledger)
        return left

    left: int = run(folder / "two", NOW, test)
    return left


def pages_of(file: Path) -> dict[str, int]:
    with closing(sqlite3.connect(file)) as connection:
        return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema")) | {"sqlite_schema": 1}


def _columns() -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


@pytest.mark.parametrize("table", ["reservations", "usage", "meta", "sizes", "advances", "usage_by_seq", "openings"])
def test_damage_of_one_table_hides_nothing_in_the_others(tmp_path: Path, table: str) -> None:
    service, file = Service(), tmp_path / "two" / "usage.sqlite3"
    spent = leave(tmp_path, service)
    with file.open("r+b") as opened:
        opened.seek((pages_of(file)[table] - 1) * 4096)
        opened.write(bytes([255]) * 4096)
    left = start(tmp_path, service)
    assert (tmp_path / "two" / "usage.sqlite3.torn").exists()
    hidden = {"reservations": 50, "usage": 30, "meta": 30}.get(table, 0)
    repeated = 100  # the hour has been read in part
    assert LIMIT - spent - repeated <= left <= LIMIT - spent + hidden
    assert table in NEEDED or left <= LIMIT - spent
    assert service.sum("p", "estimated")


def test_a_file_that_cannot_be_read_at_all_is_set_aside(tmp_path: Path) -> None:
    service = Service()
    leave(tmp_path, service)
    overwrite(tmp_path / "two" / "usage.sqlite3")
    assert start(tmp_path, service) == LIMIT - 100, "Only what the service has read is known."


def test_a_kill_before_a_damaged_file_is_written_again_loses_nothing(tmp_path: Path) -> None:
    service, file = Service(), tmp_path / "two" / "usage.sqlite3"
    spent = leave(tmp_path, service)
    TornFile(file).put()
    file.write_bytes(b"")
    left = start(tmp_path, service)
    assert LIMIT - spent - 100 <= left <= LIMIT - spent
    assert start(tmp_path, service) == 0, "It counts once."


def test_a_file_that_was_written_again_is_not_read_from_its_torn_one(tmp_path: Path) -> None:
    service = Service()

    async def lose(ledger: Ledger) -> None:
        await spend(ledger, 100, entry())
        await set_aside(ledger)
        await ledger._disk.run(lambda _: None)
        await service.read(ledger)

    async def look(ledger: Ledger) -> int:
        await service.read(ledger)
        return await spend_all(ledger, entry(service))

    run(tmp_path, NOW, lose)
    for file in tmp_path.glob("usage.sqlite3*"):
        if "torn" not in file.name:
            file.unlink()
    assert run(tmp_path, NOW, look) == LIMIT - 100


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.sampled(40)
def test_no_damage_keeps_a_gateway_from_starting(tmp_path: Path, seed: int) -> None:
    """Bytes of any value at any place."""
    chance, service, file = random.Random(seed), Service(), tmp_path / "two" / "usage.sqlite3"
    leave(tmp_path, service)
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 3, 30])):
        at, size = chance.randrange(len(content)), chance.choice([1, 2, 8, 100, 4096])
        content[at : at + size] = chance.choice([bytes(size), bytes([255]) * size, chance.randbytes(size)])
    file.write_bytes(content[: chance.choice([len(content), len(content), chance.randrange(len(content))])])
    assert start(tmp_path, service) <= LIMIT - 100, "The service has read so much."


VALUES = (-1, -(2**62), 2**62, 2**63 - 1, 1.5, "", "x", "\udcff", b"\xff", float(10**30))
PLACES = [(table, column[1]) for table, columns in _columns().items() for column in columns]


@pytest.mark.parametrize("damage", [*product(PLACES, VALUES)], ids=str)
@pytest.mark.sampled(40)
def test_no_value_keeps_a_gateway_from_starting(tmp_path: Path, damage: tuple[tuple[str, str], object]) -> None:
    """Which SQLite takes for good, although none is ever written."""
    (table, column), value = damage
    service, file = Service(), tmp_path / "two" / "usage.sqlite3"
    leave(tmp_path, service)
    given = f"CAST(x'{value.encode(errors='surrogateescape').hex()}' AS TEXT)" if isinstance(value, str) else "?"
    with closing(sqlite3.connect(file)) as connection, connection, suppress(sqlite3.IntegrityError):
        connection.execute(f"UPDATE OR IGNORE {table} SET {column} = {given}", () if "?" not in given else (value,))
    left = start(tmp_path, service)
    assert left <= LIMIT - 100 or column in {"project", "model", "store"}, "Another name is as good as the former one."
