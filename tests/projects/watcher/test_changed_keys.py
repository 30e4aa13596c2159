"""No key is lost between the threads that add some and the watcher, which takes them."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest

from projects.watcher.reconcile.changed_keys import ChangedKeys
from projects.watcher.reconcile.inspection import AT_ONCE

pytestmark = pytest.mark.one_database


def take(changed: ChangedKeys) -> set[str]:
    with changed.taking() as (keys, _):
        return set(keys)


def test_a_key_added_while_others_are_taken_is_not_lost() -> None:
    changed, taken = ChangedKeys(), list[Future[set[str]]]()

    class Slow(set[str]):
        def update(self, *others: Iterable[str]) -> None:
            taken.append(pool.submit(take, changed))
            wait(taken, timeout=0.1)
            super().update(*others)

    with ThreadPoolExecutor(1) as pool:
        changed._keys = Slow()
        changed.add("one")
        found = taken[0].result()
    assert found | take(changed) == {"one"}


def test_few_that_are_put_off_wake_the_watcher_and_many_wait_for_a_round() -> None:
    changed = ChangedKeys()
    changed.put_off({"few"})
    assert (changed.wake.is_set(), changed.has_put_off, take(changed)) == (True, False, {"few"})
    changed.wake.clear()
    many = {str(number) for number in range(AT_ONCE + 1)}
    changed.put_off(many)
    assert (changed.wake.is_set(), changed.has_put_off, take(changed)) == (False, True, set())
    with changed.taking(include_put_off=True) as (keys, _):
        assert keys == many
    assert not changed.has_put_off


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_keys_are_kept_for_the_next_round_after_any_failure(error: type[BaseException]) -> None:
    changed = ChangedKeys()
    changed.add("one")
    with pytest.raises(error), changed.taking():
        raise error
    assert take(changed) == {"one"}
