"""Where an agent may go and which models it may use: what owners ask for, and what staff decide."""

from typing import Any

from django.db import transaction

from accounts import clock
from projects.errors import InvalidFieldError
from projects.models import Actor, AgentType, Plan, Project
from projects.models.columns.behind_gateway import HAS_VIRTUAL, NEXT_VERSION
from projects.rules.permissions import Egress, models_in_force
from projects.rules.settings.schema import defaults_of

EVENT = "egress"
"""The action of the event where staff decide for a project. Its outcome is what they have decided."""

NAMED = 20
"""Models that a refusal names."""


def check_egress(wanted: str | None, *, least: Egress) -> None:
    """Raises `InvalidFieldError` where the owner asks for more than there is to have. None asks for nothing."""
    if wanted == Egress.INTERNET and least == Egress.GATEWAY:
        raise InvalidFieldError(
            "Here agents of this type, or this one, reach the gateway alone. Leave it out, or ask the staff.",
            field="egress",
            code="not_allowed",
        )


def check_model(chosen: dict[str, Any], *, agent_type: AgentType, plan: Plan) -> None:
    """Raises `InvalidFieldError` for a model that the project may not use. Without one the agent chooses.

    What the type's schema has as its default counts as chosen where nothing else is.
    """
    allowed = models_in_force((agent_type.allowed_models, plan.allowed_models))
    model = (defaults_of(agent_type.settings_schema) | chosen).get("model")
    if allowed is None or not model or model in allowed:
        return
    names = sorted(allowed)
    more = f" and {len(names) - NAMED} more, which /api/types and /api/plans list" if len(names) > NAMED else ""
    choice = f"Choose one of: {', '.join(names[:NAMED])}{more}." if names else "Ask the staff, who allow none."
    message = f"This agent type or plan does not allow the model. {choice}"
    raise InvalidFieldError(message, field="settings.model", code="not_allowed")


def impose_egress(*, project: Project, egress: Egress, actor: Actor) -> None:
    """Staff have the agent reach the gateway alone from its next start on, or leave it to the type and the owner."""
    with transaction.atomic():
        rows = Project.objects.filter(pk=project.pk).exclude(imposed_egress=egress)
        if rows.update(imposed_egress=egress, updated_at=clock.now()):
            project.event(actor, EVENT, egress.value).save()


def pass_on_permissions(row: AgentType | Plan) -> None:
    """After a change of its hosts or models: every entry of its projects is another one. The watcher tells them."""
    mine = {"plan": row} if isinstance(row, Plan) else {"agent_type": row}
    Project.objects.filter(HAS_VIRTUAL, **mine).update(**NEXT_VERSION)
