"""What the responses of Telegram and the provider, as the gateway saw them, say about an agent. Pure rules.

Only certain facts count: that a credential is refused or accepted. A server that is busy or down may be well again
before the next request, so for that only the agent's own report counts.

A refusal stands until the same is accepted. The gateway may have forgotten it since, because it was restarted.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from accounts.moments import is_future
from containers.agent_contract import ProblemCode

WORDS = {
    "telegram": ProblemCode.TELEGRAM_TOKEN,
    "polling": ProblemCode.TELEGRAM_CONFLICT,
    "key": ProblemCode.PROVIDER_KEY,
    "scope": ProblemCode.PROVIDER_KEY,
    "provider": ProblemCode.PROVIDER_CREDIT,
}
"""What the gateway can see to be well or not, the most important first, and the code of the trouble: Telegram takes the
token, no other program polls, the provider takes the key, the key may be used for answers, the account can pay."""

OF_TELEGRAM, OF_PROVIDER = frozenset({"telegram", "polling"}), frozenset({"key", "scope", "provider"})

_WORD_OF = {"token": "telegram", "polling": "polling", "key": "key", "permission": "scope", "credit": "provider"}
"""The words for the facts that the gateway reports."""

OK = 200

_TOLD_BY_TELEGRAM = {
    OK: {"token": False},
    401: {"token": True},
    409: {"token": False, "polling": True},
}
_TOLD_BY_PROVIDER = {
    OK: {"key": False, "credit": False},
    401: {"key": True},
    402: {"key": False, "credit": True},
}
"""The facts about which a status tells something, and whether they are refused."""

UNRESPONSIVE = "unresponsive"
"""The code of an agent that runs but does not reach Telegram."""

SOURCE_ADDRESS = "source_address"
"""The code of an agent whose requests come from an address that no agent has, so that the gateway refuses them."""

ASTRAY_FOR = timedelta(seconds=120)
"""How long after the last such request the trouble counts as present. Agents repeat refused requests in seconds."""

FIRST_POLL_WITHIN = timedelta(seconds=90)
"""How long after its start an agent may take to reach Telegram."""

POLLS_WITHIN = timedelta(seconds=180)
"""How old the last answered poll may be. Telegram holds a poll for 50 seconds."""


Facts = Mapping[str, tuple[bool | None, float]]
"""What the gateway has seen of each fact: whether it is refused, and when that was last seen, in seconds since 1970.
None: it may be refused now, so that an earlier success no longer counts."""


class Judgement(NamedTuple):
    """`code` is the most important trouble, and `well` has the words for all that is known, separated by spaces: as in
    `WORDS` if it is well, and with `!` in front if it is not.
    """

    code: str
    well: str

    def without(self, words: Iterable[str]) -> "Judgement":
        """Returns what is still known after the credentials that these words are about have changed."""
        return _write({word: is_well for word, is_well in _read(self).items() if word not in words})


def judge(before: Judgement, facts: Facts, *, since: float) -> Judgement:
    """Returns what is known now, if `before` was known.

    What was seen before `since` is ignored, because the agent was another one or had another credential then.
    """
    known = _read(before)
    for fact, (is_refused, at) in facts.items():
        word = _WORD_OF.get(fact)
        if word is None or at < since:
            continue
        if is_refused is not None:
            known[word] = not is_refused
        elif known.get(word):
            del known[word]
    return _write(known)


def find_facts(
    *, telegram: tuple[int | None, float | None], provider: tuple[int | None, float | None], polled_at: float | None
) -> dict[str, tuple[bool | None, float]]:
    """Returns the facts for `judge` from what an older gateway says: the last status of each side, its moment, and the
    last poll.
    """
    facts: dict[str, tuple[bool | None, float]] = {}
    facts |= {} if polled_at is None else {"token": (False, polled_at), "polling": (False, polled_at)}
    for (status, at), told in ((telegram, _TOLD_BY_TELEGRAM), (provider, _TOLD_BY_PROVIDER)):
        if at is not None:
            facts |= {fact: (is_refused, at) for fact, is_refused in told.get(status or 0, {}).items()}
    return facts


def _read(known: Judgement) -> dict[str, bool]:
    """Returns of each known word whether it is well. Rows of an older version name their trouble only in `code`."""
    words = known.well.split()
    found = {word: word in words for word in WORDS if word in words or f"!{word}" in words}
    is_named = any(WORDS[word] == known.code and not is_well for word, is_well in found.items())
    first = next((word for word, code in WORDS.items() if code == known.code), None)
    return found if is_named or first is None else {**found, first: False}


def _write(known: dict[str, bool]) -> Judgement:
    return Judgement(
        code=str(next((code for word, code in WORDS.items() if known.get(word) is False), "")),
        well=" ".join(word if known[word] else f"!{word}" for word in WORDS if word in known),
    )


def is_astray(*, now: datetime, since: float, astray_at: float | None, is_up: bool) -> bool:
    """Returns whether the agent's requests come from an address other than its own. `since` as in `judge`.

    It stays true for an agent that has ended, because this may be why it ended.
    """
    if astray_at is None or astray_at < since:
        return False
    return not is_up or abs(now.timestamp() - astray_at) <= ASTRAY_FOR.total_seconds()


def has_fallen_silent(
    *, now: datetime, since: datetime | None, reached_at: datetime | None, polled_at: datetime | None
) -> bool:
    """Returns whether an agent that was started at `since` no longer reaches Telegram, or never did.

    `reached_at` is Telegram's last successful response and `polled_at` the last answered poll; None means none is
    known. An agent that only sends messages and never polls may stay silent for any time. A start in the future was
    noted by a clock that was set back, so that only an earlier poll tells something.
    """
    if is_future(since, now=now):
        return polled_at is not None and now - polled_at > POLLS_WITHIN
    if since is None or now - since < FIRST_POLL_WITHIN:
        return False
    if polled_at is not None and polled_at >= since:
        return now - polled_at > POLLS_WITHIN
    return reached_at is None or reached_at < since


def does_poll(seen_well: str) -> bool:
    """Returns whether this run of the agent, or a former one with the same token, has received messages by polling."""
    return not {"polling", "!polling"}.isdisjoint(seen_well.split())


def is_refuted(agent_code: str, seen_well: str) -> bool:
    """Returns whether the gateway has seen the contrary of the trouble that the agent reports."""
    known = {word: is_well for word, is_well in _read(Judgement("", seen_well)).items() if WORDS[word] == agent_code}
    return bool(known) and all(known.values())
