"""What must hold before a project is deployed or changed. What can be looked up here is checked before anybody outside
is asked, which takes up to 24 s.
"""

from uuid import UUID

from accounts.models import User
from containers.errors import ImageMissingError
from containers.get_engine import get_engine
from projects.credentials.verification import CredentialCheck
from projects.errors import BotInUseError, InvalidFieldError, PlanLimitReachedError
from projects.models import AgentType, Plan, Project, limit_of


def check_image(agent_type: AgentType) -> None:
    """Raises `EngineError` where the engine does not answer or has no image of this type."""
    if not get_engine().image_exists(agent_type.image):
        raise ImageMissingError(
            f"The image of agent type {agent_type.slug} is not on the engine. Ask the staff to build it."
        )


def check_plan_limit(*, owner: User, plan: Plan) -> None:
    """Raises `PlanLimitReachedError`. Only under `lock_owner` the limit is certain to hold afterwards."""
    limit = limit_of(owner, plan)
    if limit == 0:
        raise PlanLimitReachedError(f"The {plan.slug} plan is not open to you. Choose another plan, or ask the staff.")
    if Project.objects.owned_by(owner).live().filter(plan=plan).count() >= limit:
        raise PlanLimitReachedError(
            f"The {plan.slug} plan allows {limit} project(s), and you have as many. Delete one or choose another plan."
        )


def lock_owner(owner: User) -> None:
    """Locks the owner's row until the transaction ends, so that parallel requests cannot exceed a limit together."""
    User.objects.select_for_update().get(pk=owner.pk)


def check_own_bots(*, owner: User, bot_id: int, project_id: UUID) -> None:
    """Raises `BotInUseError` where another project of the owner runs the bot."""
    others = Project.objects.owned_by(owner).live().exclude(pk=project_id)
    if others.filter(bot_id=bot_id).exists():
        raise _bot_in_use()


def check_bot(*, owner: User, check: CredentialCheck, project_id: UUID) -> None:
    """Raises `BotInUseError` where any other project runs the bot, whosever it is.

    That somebody else's project runs it is told only to those who hold the bot's token. Where Telegram did not confirm
    the token, `InvalidFieldError` is raised instead: else anybody could find out which bots are deployed here.
    """
    if check.bot_id is None or not Project.objects.live().exclude(pk=project_id).filter(bot_id=check.bot_id).exists():
        return
    check_own_bots(owner=owner, bot_id=check.bot_id, project_id=project_id)
    if not check.token_confirmed:
        raise InvalidFieldError(
            "Telegram did not answer, so the bot token could not be confirmed. Try again in a few minutes.",
            field="telegramToken",
            code="unverified",
        )
    raise _bot_in_use()


def _bot_in_use() -> BotInUseError:
    return BotInUseError(
        "Another project already runs this Telegram bot, and two would knock each other out. "
        "Delete that project, or make a new bot with @BotFather."
    )
