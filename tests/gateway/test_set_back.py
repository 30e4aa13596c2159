"""A usage file that is older than it was, because a copy of the volume was restored, lets no budget be overspent."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets import doubt
from gateway.budgets.ledger import Ledger
from gateway.periods import Period, name_of
from gateway.rules.refusals import RefusedError, Why

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.conftest import new_agent
from tests.gateway.disk_faults import Service
from tests.gateway.process import Gateway
from tests.gateway.test_damaged_files import LIMIT, NOW, entry, overwrite, spend, spend_all
from tests.gateway.test_ledger import run

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("processes", [1, 2], ids="{} since".format)
@pytest.mark.parametrize("idle", [0, 1, 2], ids="{} idle".format)
@pytest.mark.parametrize("before", [0, 200])
@pytest.mark.parametrize("since", [0, 50])
def test_a_file_that_was_set_back_is_another_store(
    tmp_path: Path, before: int, since: int, idle: int, processes: int
) -> None:
    """`before` the copy, and `since` it was restored, so many tokens were spent, and 300 in between. Processes that
    count nothing are `idle`.
    """
    service = Service()

    def use(folder: Path, tokens: int, *, is_read: bool) -> None:
        async def test(ledger: Ledger) -> None:
            if tokens:
                await spend(ledger, tokens, entry())
            ledger.close()
            if is_read:
                await service.read(ledger)

        run(folder, NOW, test)

    use(tmp_path / "one", before, is_read=True)
    for _ in range(idle):
        use(tmp_path / "one", 0, is_read=False)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    use(tmp_path / "one", 300, is_read=True)
    for _ in range(processes):
        use(tmp_path / "two", since, is_read=False)

    async def look(ledger: Ledger) -> int:
        former = service.store
        await service.read(ledger)
        assert service.store != former
        assert ledger.stores.awaits_word(entry())
        with pytest.raises(RefusedError) as refused:
            await spend(ledger, 1, entry())
        assert refused.value.why is Why.LATER
        left = await spend_all(ledger, entry(service))
        ledger.close()
        await service.read(ledger)
        return left

    left = run(tmp_path / "two", NOW, look)
    real = before + 300 + since * processes
    assert LIMIT - real - (before if since else 0) <= left <= LIMIT - real
    assert service.sum("p", "output") == real + left or service.sum("p", "estimated")
    assert service.sum("p", "output") >= real + left


def test_the_doubt_ends_when_all_entries_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    monkeypatch.setattr(doubt, "SETTLED_AFTER", 0.0)

    async def lose(ledger: Ledger) -> None:
        await spend(ledger, 10, entry())
        await service.read(ledger)

    async def look(ledger: Ledger) -> None:
        ledger.stores.doubt.note_untold(0)
        assert ledger.stores.awaits_word(entry()), "The service does not know this store yet."
        await service.read(ledger)
        await ledger.read_since(service.seq, service.store)
        ledger.stores.doubt.note_untold(1)
        assert ledger.stores.awaits_word(entry())
        ledger.stores.doubt.note_untold(0)
        assert not ledger.stores.awaits_word(entry())

    async def look_again(ledger: Ledger) -> None:
        assert not ledger.stores.awaits_word(entry())

    run(tmp_path, NOW, lose)
    overwrite(tmp_path / "usage.sqlite3")
    run(tmp_path, NOW, look)
    run(tmp_path, NOW, look_again)


def test_nothing_is_doubted_after_ordinary_restarts(tmp_path: Path) -> None:
    service = Service()

    async def use(ledger: Ledger) -> None:
        await spend(ledger, 10, entry())
        await service.read(ledger)
        assert not ledger.stores.awaits_word(entry())

    for _ in range(5):
        run(tmp_path, NOW, use)
    assert len({cell[0] for cell in service.rows}) == 1


def test_a_restored_copy_of_the_state_does_not_overspend(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    agent = new_agent(own_gateway.start(), telegram, provider)
    budget, state = {"month_tokens": 600}, own_gateway.folder / "state"
    own_gateway.apply(agent.entry(budget=budget))
    provider.words = 100
    agent.chat("a", max_tokens=100)
    agent.settled(1)
    own_gateway.stop()
    shutil.copytree(state, own_gateway.folder / "copy")
    own_gateway.start()
    agent.chat("a", max_tokens=100)
    costs = agent.settled(2)
    page: dict[str, Any] = own_gateway.ask("usage", since=0)
    own_gateway.stop()
    shutil.rmtree(state)
    (own_gateway.folder / "copy").rename(state)
    own_gateway.start()
    new = own_gateway.ask("usage", since=page["seq"], store=page["store"])
    assert new["store"] != page["store"]
    assert agent.chat("a", max_tokens=100).status == 503
    month = name_of(Period.MONTH, page["rows"][0]["hour"])
    spent = [
        {"store": page["store"], "period": month, "tokens": costs["input"] + costs["output"], "money": 0},
        {"store": new["store"], "period": month, "tokens": 0, "money": 0},
    ]
    own_gateway.apply(agent.entry(budget=budget, spent=spent))
    while agent.chat("a", max_tokens=100).status == 200:
        pass
    assert 300 < provider.sold() <= 600
