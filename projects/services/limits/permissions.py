"""Which hosts and models agents may use: checks owners' choices, and applies staff's decisions."""

from typing import Any

from django.db import transaction

from accounts import clock
from projects.errors import InvalidFieldError
from projects.models import Actor, AgentType, Plan, Project
from projects.models.columns.gateway import HAS_VIRTUAL, NEXT_VERSION
from projects.rules.permissions import Egress, models_in_force
from projects.rules.settings.schema import defaults_of

EVENT = "egress"
"""The action of the event for a decision of staff. The outcome is their decision."""

NAMED = 20
"""The maximum number of models that a refusal names."""


def check_egress(wanted: str | None, *, least: Egress) -> None:
    """Raises `InvalidFieldError` if the owner asks for more than is allowed. None asks for nothing."""
    if wanted == Egress.INTERNET and least == Egress.GATEWAY:
        raise InvalidFieldError(
            "Here agents of this type, or this one, reach the gateway alone. Leave it out, or ask the staff.",
            field="egress",
            code="not_allowed",
        )


def check_model(chosen: dict[str, Any], *, agent_type: AgentType, plan: Plan) -> None:
    """Raises `InvalidFieldError` for a model that the project may not use. Without a model the agent chooses.

    The default of the type's schema counts as chosen if the settings name no model.
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
    """Restricts the agent to the gateway from its next start on, or leaves the choice to the type and the owner."""
    with transaction.atomic():
        rows = Project.objects.filter(pk=project.pk).exclude(imposed_egress=egress)
        if rows.update(imposed_egress=egress, updated_at=clock.now()):
            project.event(actor, EVENT, egress.value).save()


def renew_entries_of(row: AgentType | Plan) -> None:
    """Marks the entries of a row's projects as changed after its hosts or models changed. The watcher sends them."""
    mine = {"plan": row} if isinstance(row, Plan) else {"agent_type": row}
    Project.objects.filter(HAS_VIRTUAL, **mine).update(**NEXT_VERSION)
