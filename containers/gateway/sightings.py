"""What the gateway itself has seen of agents. The other side is `containers/images/gateway/gateway/sightings.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from containers.errors import EngineUnavailableError
from containers.gateway.messages import GARBLED, object_of

_WORDS = ("budget_period", "astray_from")


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the gateway itself has observed of an agent since it was started. Times are seconds since 1970."""

    last_poll: float | None
    telegram_status: int | None
    telegram_since: float | None
    telegram_at: float | None
    """When Telegram last answered with this status."""
    provider_status: int | None
    provider_since: float | None
    provider_at: float | None
    budget_reached: float | None
    budget_period: str | None = None
    """Which budget it was, `day` or `month`. None: the gateway did not say."""
    budget_room: float | None = None
    """When the budget had room for a call again after refusals. None: not since the gateway was started."""
    astray_at: float | None = None
    """When the agent's credential last came from an address that does not belong to an agent. None: never."""
    astray_from: str | None = None
    """That address."""
    astray: int | None = None
    """How often that happened."""
    facts: Mapping[str, tuple[bool | None, float]] | None = None
    """Whether `token`, `polling`, `key`, `permission` or `credit` is refused, and when that was seen. None instead of
    whether: it is doubtful. An older gateway tells only the last statuses."""

    def earlier(self, seconds: float) -> "Sighting":
        """Returns the same sighting with all moments moved."""
        moments = {name: getattr(self, name) for name in _MOMENTS}
        facts = self.facts and {name: (refused, at - seconds) for name, (refused, at) in self.facts.items()}
        return replace(self, facts=facts, **{name: each and each - seconds for name, each in moments.items()})


_MOMENTS = (
    "last_poll", "telegram_since", "telegram_at", "provider_since", "provider_at", "budget_reached", "budget_room",
    "astray_at",
)  # fmt: skip


class Look(NamedTuple):
    """The sightings of one gateway by project, what its clock showed then, and when it was started, in seconds since
    1970. None: an older gateway did not say."""

    sightings: dict[str, Sighting]
    now: float | None
    began: float | None
    trouble: str
    """What is wrong with the gateway's disk, as a sentence for staff; empty if all is well."""


def read_sighting(seen: dict[str, Any]) -> Sighting:
    """Raises `EngineUnavailableError`."""
    fields = {name: seen.get(name) for name in Sighting.__slots__}
    period, address = [text if isinstance(text := fields.pop(name), str) else None for name in _WORDS]
    facts = fields.pop("facts")
    if not all(each is None or isinstance(each, int | float) for each in fields.values()):
        raise EngineUnavailableError(GARBLED)
    return Sighting(**fields, budget_period=period, astray_from=address, facts=_read_facts(facts))


def _read_facts(facts: object) -> dict[str, tuple[bool | None, float]] | None:
    return None if facts is None else {name: _read_fact(object_of(each)) for name, each in object_of(facts).items()}


def _read_fact(fact: dict[str, Any]) -> tuple[bool | None, float]:
    refused, at = fact.get("refused"), fact.get("at")
    if not isinstance(refused, bool | None) or not isinstance(at, int | float):
        raise EngineUnavailableError(GARBLED)
    return refused, at
