"""What stands of what Telegram and the provider said about an agent's credentials. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from gateway.proofs import Fact

_TELEGRAM = {Fact.TOKEN: 401, Fact.POLLING: 409}
_PROVIDER = {Fact.KEY: 401, Fact.PERMISSION: 401, Fact.CREDIT: 402}
"""The status that stands for a refusal, also if the upstream used another one. The first refusal is shown."""


class Standing(NamedTuple):
    """What an upstream last said about a fact: since when it says so, and when it last did."""

    is_refused: bool | None
    """None: it is doubtful whether it is still accepted."""
    since: float
    at: float


Standings = Mapping[Fact, Standing]
Shown = tuple[int, Standing] | tuple[None, None]
"""The status of a side: that of the refusal that stands, 200 if there is none after a success, or None."""


def show_telegram(facts: Standings) -> Shown:
    return _show(facts, _TELEGRAM, accepted=Fact.TOKEN)


def show_provider(facts: Standings) -> Shown:
    return _show(facts, _PROVIDER, accepted=Fact.CREDIT)


def is_refused(standing: Standing | None) -> bool:
    return standing is not None and standing.is_refused is True


def _show(facts: Standings, statuses: Mapping[Fact, int], *, accepted: Fact) -> Shown:
    for fact, status in statuses.items():
        if is_refused(facts.get(fact)):
            return status, facts[fact]
    success = facts.get(accepted)
    return (None, None) if success is None or success.is_refused is not False else (200, success)
