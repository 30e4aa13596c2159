"""What must hold before a project is deployed or changed. What can be looked up here is checked before anybody outside
is asked, which takes up to 10 s.
"""

from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.compiled_query import CompiledQuery
from accounts.models import User
from containers.errors import ImageMissingError
from containers.get_engine import get_engine
from projects.credentials.verification import CredentialCheck
from projects.errors import BotInUseError, InvalidFieldError, OperationLostError, PlanLimitReachedError
from projects.models import AgentType, Plan, Project, Provider, read_room
from projects.rules.bot import CLAIMED
from projects.rules.settings.own import PROVIDERS
from projects.rules.status.reasons import SENTENCES
from projects.services.credentials.bot_claims import evict_unconfirmed

_SOME_BOT = 7_301_223_456_789_012_345
"""A sample for queries."""


def check_image(agent_type: AgentType) -> None:
    """Raises `EngineError` where the engine does not answer or has no image of this type."""
    if not get_engine().image_exists(agent_type.image):
        raise ImageMissingError(
            f"The image of agent type {agent_type.slug} is not on the engine. Ask the staff to build it."
        )


def check_plan_limit(*, owner: User, plan: Plan) -> None:
    """Raises `PlanLimitReachedError`. Only under `lock_owner` the limit is certain to hold until the row is written."""
    limit, held = read_room(owner, plan)
    if limit == 0:
        raise PlanLimitReachedError(f"The {plan.slug} plan is not open to you. Choose another plan, or ask the staff.")
    if held >= limit:
        raise PlanLimitReachedError(
            f"The {plan.slug} plan allows {limit} project(s), and you have as many. Delete one or choose another plan."
        )


def lock_owner(owner: User) -> None:
    """Locks the owner's row until the transaction ends, so that parallel requests cannot exceed a limit together.

    Raises `OperationLostError` where the owner has had the account deleted.
    """
    if not _locked_owner().rows(owner.pk):
        raise OperationLostError("The account is being deleted.")


def lock_provider(name: str) -> None:
    """Locks the row of one that the staff have named until the transaction ends: it is not deleted meanwhile.

    It comes before the rows of projects. Raises `InvalidFieldError` where it is gone since it was looked at.
    """
    if not name or name in PROVIDERS or Provider.objects.select_for_update().filter(pk=name).first():
        return
    raise InvalidFieldError(
        f"There is no provider {name} any more. Choose another.", field="settings.provider", code="enum"
    )


def check_own_bots(*, owner: User, bot_id: int, project_id: UUID) -> None:
    """Raises `BotInUseError` where another project of the owner runs the bot."""
    if _own_with_bot().rows(owner.pk, project_id, bot_id):
        raise _bot_in_use()


def check_bot(*, owner: User, check: CredentialCheck, project_id: UUID) -> None:
    """Raises `BotInUseError` where the bot is another project's.

    That somebody else's project has it is told only to those who hold the bot's token. Where Telegram did not confirm
    the token, nothing stands in the way, whether the bot is deployed here or not: else anybody could find that out.
    Such a claim keeps nobody from the bot, and the watcher has it confirmed when Telegram answers.
    """
    if check.bot_id is None:
        return
    if not check.token_confirmed:
        others = _own_with_bot().rows(owner.pk, project_id, check.bot_id)
    elif settings.BERTH_VERIFY_CREDENTIALS:
        others = _sure_with_bot().rows(owner.pk, project_id, check.bot_id)
    else:
        others = _any_with_bot().rows(project_id, check.bot_id)
    if others:
        raise _bot_in_use()


def claim_bot(*, owner: User, check: CredentialCheck, project_id: UUID) -> None:
    """Raises what `check_bot` raises, and takes the bot from claims that Telegram has not confirmed.

    To be called in the transaction that writes the row.
    """
    check_bot(owner=owner, check=check, project_id=project_id)
    if check.bot_id is not None and check.token_confirmed and settings.BERTH_VERIFY_CREDENTIALS:
        evict_unconfirmed(bot_id=check.bot_id, keep=project_id)


def check_claim(project: Project) -> None:
    """Raises `BotInUseError` for a start of a project that has lost its bot, while the other one still has it."""
    others = Project.objects.live().exclude(pk=project.pk).filter(bot_id=project.bot_id, bot_unconfirmed_at=None)
    if others.exists():
        raise BotInUseError(SENTENCES[CLAIMED])


@lru_cache
def _locked_owner() -> CompiledQuery:
    rows = User.objects.select_for_update().filter(closed_at=None).order_by()
    return CompiledQuery(lambda pk: rows.filter(pk=pk).values_list("pk"), uuid4())


@lru_cache
def _any_with_bot() -> CompiledQuery:
    return CompiledQuery(lambda project_id, bot_id: _with_bot(project_id, bot_id)[:1], uuid4(), _SOME_BOT)


@lru_cache
def _own_with_bot() -> CompiledQuery:
    def write(owner_id: UUID, project_id: UUID, bot_id: int) -> "QuerySet[Project, Any]":
        return _with_bot(project_id, bot_id).filter(owner_id=owner_id)[:1]

    return CompiledQuery(write, uuid4(), uuid4(), _SOME_BOT)


@lru_cache
def _sure_with_bot() -> CompiledQuery:
    """Of others those that Telegram has confirmed."""

    def write(owner_id: UUID, project_id: UUID, bot_id: int) -> "QuerySet[Project, Any]":
        return _with_bot(project_id, bot_id).filter(Q(owner_id=owner_id) | Q(bot_unconfirmed_at=None))[:1]

    return CompiledQuery(write, uuid4(), uuid4(), _SOME_BOT)


def _with_bot(project_id: UUID, bot_id: int) -> "QuerySet[Project, Any]":
    return Project.objects.live().exclude(pk=project_id).filter(bot_id=bot_id).order_by().values_list("pk")


def _bot_in_use() -> BotInUseError:
    return BotInUseError(
        "Another project already runs this Telegram bot, and two would knock each other out. "
        "Delete that project, or make a new bot with @BotFather."
    )
