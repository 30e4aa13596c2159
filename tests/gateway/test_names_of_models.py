"""The usage table grows neither with the names that an agent invents nor with the months."""

from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.ledger import Ledger
from gateway.budgets.model_names import MAX_MODELS
from gateway.meters.usage import Usage

from tests.gateway.test_ledger import Clock, entry, moment_of, run

pytestmark = pytest.mark.one_database


def rows_of(answer: dict[str, Any]) -> dict[str, int]:
    return {row["model"]: row["requests"] for row in answer["rows"]}


def test_only_a_limited_number_of_models_is_counted_separately(tmp_path: Path) -> None:
    async def call(ledger: Ledger, model: str, *, written: int, is_error: bool = False) -> None:
        reservation = await ledger.reserve(entry(), model, input_tokens=0, min_output=0, max_output=written)
        ledger.settle(reservation, Usage(0, written), entry=entry(), is_error=is_error)

    async def test(ledger: Ledger) -> dict[str, int]:
        await call(ledger, "real", written=1)
        for number in range(1000):
            await call(ledger, f"no such model {number}", written=0, is_error=True)
        await call(ledger, "late", written=1)
        return rows_of(await ledger.read_since(0))

    async def many(ledger: Ledger) -> dict[str, Any]:
        for number in range(2 * MAX_MODELS):
            await call(ledger, f"real {number}", written=1)
        await call(ledger, "real", written=1)
        return await ledger.read_since(0)

    clock = Clock(2026, 11, 22)
    assert run(tmp_path, clock, test) == {"real": 1, "other": 1000, "late": 1}
    answer = run(tmp_path, clock, many)
    assert len(answer["rows"]) == MAX_MODELS + 1
    assert rows_of(answer)["real"] == 2
    assert sum(row["output"] for row in answer["rows"]) == 2 * MAX_MODELS + 3
    clock.now = moment_of((2026, 12, 1))
    assert len(run(tmp_path, clock, many)["rows"]) <= 2 * (MAX_MODELS + 1)
