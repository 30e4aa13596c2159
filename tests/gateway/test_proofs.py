"""What is shown of Telegram and the provider is true after every sequence of calls, answers, restarts and new keys.

The oracle knows the whole truth about the upstreams (`upstream_worlds.py`): the last answer that told something of a
fact counts, and nothing else.
"""

from collections.abc import Callable, Iterable
from itertools import product

import pytest
from gateway.entries.entry import Kind
from gateway.proofs import NOTHING, OF_TELEGRAM, Fact, Proof

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
from tests.gateway import upstream_worlds
from tests.gateway.told_truth import Berth, events_of, steps_of
from tests.gateway.upstream_worlds import FILES, World, entry, of_provider

pytestmark = pytest.mark.one_database

RESTART = ("the gateway is killed", Berth.restart)
LOSS = ("the gateway and its disk are lost", Berth.lose_disk)
OTHER_TOKEN = ("another token", lambda berth: berth.change(OF_TELEGRAM))
OTHER_KEY = ("another key", lambda berth: berth.change({Fact.KEY}))


def set_clock(by: float) -> Callable[[Berth], None]:
    def step(berth: Berth) -> None:
        berth.time.ahead += by
        if by < 0:
            berth.since = 0.0 if berth.since > berth.time.now() else berth.since  # as `_find_changes` does

    return step


@pytest.mark.parametrize("kind", Kind)
def test_what_is_shown_of_the_provider_is_true_after_every_sequence(kind: Kind) -> None:
    for sequence in product([*steps_of(events_of(of_provider(kind))), RESTART, LOSS, OTHER_KEY, OTHER_TOKEN], repeat=3):
        follow(sequence)


def test_what_is_shown_of_telegram_is_true_after_every_sequence() -> None:
    steps = [*steps_of(events_of(upstream_worlds.OF_TELEGRAM)), RESTART, LOSS, OTHER_KEY, OTHER_TOKEN]
    for sequence in product(steps, repeat=3):
        follow(sequence)


def test_both_sides_are_independent_of_each_other() -> None:
    events = [*events_of(upstream_worlds.OF_TELEGRAM), *events_of(of_provider(Kind.OPENAI))]
    for sequence in product([*steps_of(events), RESTART, LOSS], repeat=3):
        follow(sequence)


@pytest.mark.parametrize("by", [-7200.0, -5.0, 5.0, 7200.0])
def test_a_clock_that_is_set_changes_nothing(by: float) -> None:
    events = [*events_of(upstream_worlds.OF_TELEGRAM), *events_of(of_provider(Kind.OPENROUTER))]
    steps = steps_of(events)
    for before, after in product(steps, repeat=2):
        follow([before, ("the clock", set_clock(by)), after])
        follow([before, ("the clock", set_clock(by)), RESTART, after])


def follow(sequence: Iterable[tuple[str, Callable[[Berth], None]]]) -> None:
    berth = Berth()
    for number, (_, step) in enumerate(sequence):
        step(berth)
        berth.check([name for name, _ in sequence][: number + 1])
        berth.time.tick += 1


def test_files_prove_nothing() -> None:
    for request, fact in product(FILES, (*OF_TELEGRAM, None)):
        assert request.proof(World(frozenset({fact} if fact else ()))) == NOTHING


def test_an_answer_to_a_former_credential_does_not_count() -> None:
    """A call was in flight when its owner changed the key."""
    berth, former = Berth(), entry()
    berth.change({Fact.KEY})
    berth.gateway.note(former, Proof(refused=Fact.KEY))
    berth.check("another key")
    berth.gateway.note(former, Proof(refused=Fact.TOKEN))
    berth.look()
    assert berth.row.code == "telegram_token", "The token is still the same."
    berth.is_void = True
    berth.gateway.change_entry(former, None)
    berth.gateway.note(former, Proof(refused=Fact.TOKEN), is_poll=True)
    assert berth.gateway.as_document()["seen"] == {}


def test_a_poll_stays_where_it_was_when_the_clock_is_set() -> None:
    berth = Berth()
    berth.gateway.note(berth.current, Proof(OF_TELEGRAM), is_poll=True)
    for by in (0.0, 3600.0, -7200.0):
        berth.time.tick, berth.time.ahead = berth.time.tick + 10, berth.time.ahead + by
        document = berth.gateway.as_document()
        assert document["now"] == berth.time.now()
        assert document["now"] - document["seen"]["p"]["last_poll"] == pytest.approx(berth.time.tick - 500.0)


def test_a_clock_that_drifts_a_little_moves_no_moment() -> None:
    berth = Berth()
    berth.gateway.note(berth.current, Proof(OF_TELEGRAM), is_poll=True)
    first = berth.gateway.as_document()["seen"]
    berth.time.ahead += 0.9
    assert berth.gateway.as_document()["seen"] == first
