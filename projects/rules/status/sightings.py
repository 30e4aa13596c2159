"""What the responses of Telegram and the provider, as the gateway saw them, say about an agent. Pure rules.

Only certain facts count: that a credential is refused or accepted. A server that is busy or down may be well again
before the next request, so for that only the agent's own report counts.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from containers.agent_contract import ProblemCode

TELEGRAM, PROVIDER = "telegram", "provider"

_TROUBLE = {
    TELEGRAM: {
        401: ProblemCode.TELEGRAM_TOKEN,
        404: ProblemCode.TELEGRAM_TOKEN,
        409: ProblemCode.TELEGRAM_CONFLICT,
    },
    PROVIDER: {401: ProblemCode.PROVIDER_KEY, 402: ProblemCode.PROVIDER_CREDIT},
}
_REFUTED = {
    ProblemCode.TELEGRAM_TOKEN: TELEGRAM,
    ProblemCode.TELEGRAM_CONFLICT: TELEGRAM,
    ProblemCode.PROVIDER_KEY: PROVIDER,
    ProblemCode.PROVIDER_CREDIT: PROVIDER,
}
"""Codes that an agent may report, and whose successful response refutes them."""

OK = 200

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


class Judgement(NamedTuple):
    """`code` is the trouble, if any. `well` names the sides whose last response was good, separated by spaces."""

    code: str
    well: str


def judge_sighting(
    *, telegram: tuple[int | None, float | None], provider: tuple[int | None, float | None], since: float
) -> Judgement:
    """Each argument is the last HTTP status and its time, in seconds since 1970.

    Ignores a refusal from before `since`, because the credential was another one then.
    """
    codes, well = [], []
    for whose, (status, at) in ((TELEGRAM, telegram), (PROVIDER, provider)):
        if status == OK:
            well.append(whose)
        elif status in _TROUBLE[whose] and at is not None and at >= since:
            codes.append(str(_TROUBLE[whose][status]))
    return Judgement(code=next(iter(codes), ""), well=" ".join(well))


def is_astray(*, now: datetime, since: float, astray_at: float | None, is_up: bool) -> bool:
    """Returns whether the agent's requests come from an address other than its own. `since` as in `judge_sighting`.

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
    known. An agent that only sends messages and never polls may stay silent for any time.
    """
    if since is None or now - since < FIRST_POLL_WITHIN:
        return False
    if polled_at is not None and polled_at >= since:
        return now - polled_at > POLLS_WITHIN
    return reached_at is None or reached_at < since


def is_refuted(agent_code: str, seen_well: str) -> bool:
    """Returns whether the gateway has seen the contrary of the trouble that the agent reports."""
    return any(agent_code == code and whose in seen_well.split() for code, whose in _REFUTED.items())
