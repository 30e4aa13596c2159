"""The answers to a void credential."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet, MultiFernet
from gateway.entries.store import Store
from gateway.entries.table import Table
from gateway.rules.callers import Callers, Comparison, GracePeriods, Stranger

from tests.gateway.test_entries import PROJECT, apply, entry

pytestmark = pytest.mark.one_database


def test_a_credential_void_on_this_node_is_asked_to_retry_for_a_while(tmp_path: Path) -> None:
    """A node that does not know yet that the agent runs again refuses nothing permanently. Elsewhere it is refused at
    once.
    """
    now, keys = [0.0], MultiFernet([Fernet(Fernet.generate_key())])
    table = Table(Store(tmp_path, keys))
    apply(table, 1, entry() | {"leased": True}, entry("w", "other"))
    apply(table, 2, void=(PROJECT, "other"))
    for each in (table, Table(Store(tmp_path, keys))):
        callers = Callers(each, GracePeriods(10, lambda: now[0]), GracePeriods(10, lambda: now[0], can_restart=True))
        for _ in range(2):
            now[0] += 100
            told = [callers.identify(credential="v", address="10.0.0.7")]
            for _ in range(2):
                now[0] += 5
                told.append(callers.identify(credential="v", address="10.0.0.7"))
            assert told == [Stranger.LATER, Stranger.LATER, Stranger.INVALID]
            assert callers.identify(credential="w", address="10.0.0.7") is Stranger.INVALID


def test_a_node_without_comparison_neither_refuses_permanently_nor_admits(tmp_path: Path) -> None:
    """Neither credentials that are void here, perhaps only here, nor unknown ones are refused permanently."""
    now = [0.0]
    comparison = Comparison(lambda: now[0])
    table = Table(Store(tmp_path, MultiFernet([Fernet(Fernet.generate_key())])))
    apply(table, 1, entry() | {"leased": True})
    apply(table, 2, void=(PROJECT,))
    unknown, returning = (
        GracePeriods(10, lambda: now[0], can_restart=each, until=comparison) for each in (False, True)
    )
    callers = Callers(table, unknown, returning)

    def told() -> list[object]:
        now[0] += 5
        return [callers.identify(credential=each, address="10.0.0.7") for each in ("v", "unheard")]

    def compare(*, missed: bool) -> None:
        comparison.begin()
        now[0] += 1
        if not missed:
            comparison.confirm_equal()

    compare(missed=False)
    for _ in range(50):
        assert told() == [Stranger.LATER] * 2
    compare(missed=True)
    assert told() == [Stranger.LATER] * 2
    compare(missed=False)
    assert told() == [Stranger.INVALID] * 2
