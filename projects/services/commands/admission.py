"""Checks before a project is deployed or changed. Checks in the database come before calls to outside servers, which
may take up to 10 s.
"""

from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.database.compiled_query import CompiledQuery
from accounts.models import User
from containers.errors import ImageMissingError
from containers.get_engine import get_engine
from projects.credentials.verification import CredentialCheck
from projects.errors import BotInUseError, InvalidFieldError, OperationLostError, PlanLimitReachedError
from projects.models import AgentType, Plan, Project, Provider, read_room
from projects.rules.bot import CLAIMED
from projects.rules.settings.berth_settings import PROVIDERS
from projects.rules.status.sentences import SENTENCES
from projects.services.credentials.bot_claims import evict_unconfirmed

_SOME_BOT = 7_301_223_456_789_012_345
"""A sample value for compiled queries."""


def check_image(agent_type: AgentType) -> None:
    """Raises `EngineError` if the engine does not answer or does not have the image of this type."""
    if not get_engine().image_exists(agent_type.image):
        raise ImageMissingError(
            f"The image of agent type {agent_type.slug} is not on the engine. Ask the staff to build it."
        )


def check_plan_limit(*, owner: User, plan: Plan) -> None:
    """Raises `PlanLimitReachedError`, or `InvalidFieldError` if the plan has been deleted since it was read.

    Only under `lock_owner` does the result hold until the row is written.
    """
    limit, held = read_room(owner, plan)
    if limit == 0:
        check_choices(plan=plan)
        raise PlanLimitReachedError(f"The {plan.slug} plan is not open to you. Choose another plan, or ask the staff.")
    if held >= limit:
        raise PlanLimitReachedError(
            f"The {plan.slug} plan allows {limit} project(s), and you have as many. Delete one or choose another plan."
        )


def lock_owner(owner: User) -> None:
    """Locks the owner's row until the transaction ends, so that parallel requests cannot exceed a limit together.

    Raises `OperationLostError` if the owner's account is being deleted.
    """
    if not _locked_owner().rows(owner.pk):
        raise OperationLostError("The account is being deleted.")


def lock_provider(name: str) -> None:
    """Locks the row of a provider that staff added until the transaction ends, so that it is not deleted meanwhile.

    Lock it before rows of projects. Raises `InvalidFieldError` if it has been deleted since it was read.
    """
    if not name or name in PROVIDERS or Provider.objects.select_for_update().filter(pk=name).first():
        return
    raise InvalidFieldError(
        f"The provider {name} no longer exists. Choose another.", field="settings.provider", code="enum"
    )


def check_choices(**chosen: AgentType | Plan) -> None:
    """Raises `InvalidFieldError` if a row of the catalogue has been deleted since it was read."""
    for field, row in chosen.items():
        if not type(row)._default_manager.filter(pk=row.pk).exists():
            raise InvalidFieldError(
                f"The {field} {row.pk} no longer exists. Choose another.", field=field, code="unknown_choice"
            )


def check_own_bots(*, owner: User, bot_id: int, project_id: UUID) -> None:
    """Raises `BotInUseError` if another project of the owner runs the bot."""
    if _own_with_bot().rows(owner.pk, project_id, bot_id):
        raise _bot_in_use(owner, bot_id, project_id)


def check_bot(*, owner: User, check: CredentialCheck, project_id: UUID) -> None:
    """Raises `BotInUseError` if the bot belongs to another project.

    Only the holder of the bot's token may learn that somebody else's project has the bot. So if Telegram did not
    confirm the token, the check passes no matter whether the bot is deployed here. Such a claim does not keep others
    from the bot, and the watcher has it confirmed when Telegram answers.
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
        raise _bot_in_use(owner, check.bot_id, project_id)


def claim_bot(*, owner: User, check: CredentialCheck, project_id: UUID) -> None:
    """Checks the bot like `check_bot`, and ends other claims to it that Telegram has not confirmed.

    Call it in the transaction that writes the row.
    """
    check_bot(owner=owner, check=check, project_id=project_id)
    if check.bot_id is not None and check.token_confirmed and settings.BERTH_VERIFY_CREDENTIALS:
        evict_unconfirmed(bot_id=check.bot_id, keep=project_id)


def check_claim(project: Project) -> None:
    """Raises `BotInUseError` if a project that lost its bot is started while the other project still has it."""
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
    """Compiles the query for own projects with the bot, and for others' if Telegram has confirmed them."""

    def write(owner_id: UUID, project_id: UUID, bot_id: int) -> "QuerySet[Project, Any]":
        return _with_bot(project_id, bot_id).filter(Q(owner_id=owner_id) | Q(bot_unconfirmed_at=None))[:1]

    return CompiledQuery(write, uuid4(), uuid4(), _SOME_BOT)


def _with_bot(project_id: UUID, bot_id: int) -> "QuerySet[Project, Any]":
    return Project.objects.live().exclude(pk=project_id).filter(bot_id=bot_id).order_by().values_list("pk")


def _bot_in_use(owner: User, bot_id: int, project_id: UUID) -> BotInUseError:
    """Names the other project to its owner, who may have created it by a request that was answered with an error."""
    others = Project.objects.live().exclude(pk=project_id).filter(bot_id=bot_id, owner=owner)
    if own := others.values_list("name", flat=True).first():
        return BotInUseError(
            f"Your project “{own}” already runs this Telegram bot, and two would knock each other out. If you have "
            "just tried to create it, that worked in spite of the error: look at it. Otherwise delete it, or make a "
            "new bot with @BotFather."
        )
    return BotInUseError(
        "Another project already runs this Telegram bot, and two would knock each other out. "
        "Delete that project, or make a new bot with @BotFather."
    )
