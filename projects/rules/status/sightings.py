"""What the answers of Telegram and of the provider say of an agent, as the gateway has seen them. Pure rules.

Only what is certain counts: that a credential is refused, or is not. A server that is busy or down may be well again
before anybody asks it the next time, and then the agent's own word is all there is.
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
"""What an agent may say of itself, and whose good answer shows that it is not so."""

OK = 200

UNRESPONSIVE = "unresponsive"
"""The code of an agent that runs and does not reach Telegram."""

SOURCE_ADDRESS = "source_address"
"""The code of an agent whose requests reach the gateway from an address that no agent has: it refuses them."""

ASTRAY_FOR = timedelta(seconds=120)
"""How long after the last such request they are taken to come so. Those that are refused come again in seconds."""

FIRST_POLL_WITHIN = timedelta(seconds=90)
"""How long after its start an agent may not have reached Telegram."""

POLLS_WITHIN = timedelta(seconds=180)
"""How old the last poll may be that Telegram has answered. It holds one for 50 seconds."""


class Judgement(NamedTuple):
    """`well` names those whose last answer was a good one, with a blank between."""

    code: str
    well: str


def judge_sighting(
    *, telegram: tuple[int | None, float | None], provider: tuple[int | None, float | None], since: float
) -> Judgement:
    """Each is the last status and its moment, in seconds since 1970. A refusal of before `since` says nothing, because
    the credential was another one."""
    codes, well = [], []
    for whose, (status, at) in ((TELEGRAM, telegram), (PROVIDER, provider)):
        if status == OK:
            well.append(whose)
        elif status in _TROUBLE[whose] and at is not None and at >= since:
            codes.append(str(_TROUBLE[whose][status]))
    return Judgement(code=next(iter(codes), ""), well=" ".join(well))


def is_astray(*, now: datetime, since: float, astray_at: float | None, is_up: bool) -> bool:
    """Whether the agent's requests do not come from its own address. `since` as for `judge_sighting`. Of one that has
    ended it stays true: it may have ended for that."""
    if astray_at is None or astray_at < since:
        return False
    return not is_up or abs(now.timestamp() - astray_at) <= ASTRAY_FOR.total_seconds()


def has_fallen_silent(
    *, now: datetime, since: datetime | None, reached_at: datetime | None, polled_at: datetime | None
) -> bool:
    """Whether an agent that was started at `since` does not reach Telegram any more, or never did.

    `reached_at` is when Telegram last answered it well, and `polled_at` when it answered a poll; None: never, as far
    as is known. One that sends messages and does not poll may be silent for as long as it likes.
    """
    if since is None or now - since < FIRST_POLL_WITHIN:
        return False
    if polled_at is not None and polled_at >= since:
        return now - polled_at > POLLS_WITHIN
    return reached_at is None or reached_at < since


def is_refuted(agent_code: str, seen_well: str) -> bool:
    """Whether the gateway has seen the contrary of what the agent says is wrong."""
    return any(agent_code == code and whose in seen_well.split() for code, whose in _REFUTED.items())
