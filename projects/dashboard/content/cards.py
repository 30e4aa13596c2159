"""Cards for the plans and types from which the form of a new project lets the user choose."""

from collections.abc import Iterable
from typing import NamedTuple

from projects.models import AgentType, Plan
from projects.rules.disk import describe_size


class PlanCard(NamedTuple):
    """A plan. `fault` says why it cannot be chosen, or is empty."""

    slug: str
    limits: str
    room: str
    fault: str
    is_chosen: bool


class TypeCard(NamedTuple):
    slug: str
    title: str
    description: str
    needs: str
    is_chosen: bool


def describe_plans(plans: Iterable[Plan], *, chosen: str, agent_type: AgentType | None) -> list[PlanCard]:
    """Describes plans that come from `plans_with_room`."""
    return [_describe_plan(plan, chosen, agent_type) for plan in plans]


def _describe_plan(plan: Plan, chosen: str, agent_type: AgentType | None) -> PlanCard:
    limit = plan.owner_limit or 0
    left = max(0, limit - (plan.held or 0))
    least = agent_type.min_memory_mb if agent_type else 0
    fault = ""
    if not left:
        fault = "Full: delete a project on it, or ask the staff."
    elif plan.memory_mb < least:
        fault = f"Too small: this type needs {least} MB."
    limits = f"{plan.memory_mb} MB memory, {plan.cpus.normalize():f} CPU, {describe_size(plan.disk)} disk"
    return PlanCard(plan.slug, limits, f"{left} of {limit} left", fault, plan.slug == chosen and not fault)


def describe_types(types: Iterable[AgentType], *, chosen: str) -> list[TypeCard]:
    return [TypeCard(row.slug, row.title, row.description, _describe_needs(row), row.slug == chosen) for row in types]


def _describe_needs(row: AgentType) -> str:
    required = [
        words for words, needed in (("a bot", row.needs_telegram_token), ("a provider", row.needs_api_key)) if needed
    ]
    needs = f"Needs {' and '.join(required)}, and" if required else "Needs"
    able = f" It can: {', '.join(row.capability_names)}." if row.capability_names else ""
    return f"{needs} {row.min_memory_mb} MB of memory.{able}"
