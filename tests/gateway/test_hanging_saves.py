"""A change of entries waits for no disk for ever, and projects that should be void are at once."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet, MultiFernet
from gateway.budgets.disk_errors import describe
from gateway.entries import saving
from gateway.entries.entry import Entry
from gateway.entries.record import Record
from gateway.entries.store import Store
from gateway.entries.table import Change, Table

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable

pytestmark = pytest.mark.one_database


class HangingStore(Store):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, MultiFernet([Fernet(Fernet.generate_key())]))
        self.go_on = threading.Event()
        self.go_on.set()
        self.saved: list[int] = []

    def save(self, records: list[Record]) -> None:
        self.go_on.wait(60)
        super().save(records)
        self.saved += [record.version for record in records]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HangingStore]:
    store = HangingStore(tmp_path / "entries")
    yield store
    store.go_on.set()


def entry(project: str) -> Change:
    return Change(project, {"project": project})


def test_a_change_fails_while_the_disk_hangs(store: HangingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    async def end(old: Entry, new: Entry | None) -> None:
        if new is None:
            ended.append(old.project)

    async def test() -> None:
        table = Table(store)
        table.tell(end)
        await table.apply([entry("p"), entry("q")], 1)
        store.go_on.clear()
        monkeypatch.setattr(saving, "SAVED_WITHIN", 0.05)
        for project in ("p", "q"):
            with pytest.raises(TimeoutError) as raised:
                await table.apply([Change(project, None)], 2)
            assert describe(raised.value) == "its disk does not answer"
        assert ended == ["p", "q"], "They are void, although it is not on the disk."
        with pytest.raises(TimeoutError):
            await table.apply([entry("p")], 3)
        assert {version["version"] for version in table.versions().values()} == {1}
        monkeypatch.undo()
        store.go_on.set()
        async with asyncio.timeout(30):
            while not (table._saving._last and table._saving._last.done()):
                await asyncio.sleep(0)
        assert store.saved == [1, 1, 2]
        assert await table.apply([entry("p")], 3) == {"p": 3}
        assert await table.apply([Change("q", None)], 3) == {"q": 3}
        assert [record.version for record in store.load()] == [3, 3]

    asyncio.run(test())


def test_a_change_whose_caller_is_gone_is_saved_before_the_next(store: HangingStore) -> None:
    async def test() -> None:
        table = Table(store)
        store.go_on.clear()
        gone = asyncio.ensure_future(table.apply([entry("p")], 1))
        for _ in range(5):
            await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait({gone})
        following = asyncio.ensure_future(table.apply([entry("p")], 2))
        for _ in range(5):
            await asyncio.sleep(0)
        store.go_on.set()
        assert await following == {"p": 2}
        assert store.saved == [1, 2]

    asyncio.run(test())
