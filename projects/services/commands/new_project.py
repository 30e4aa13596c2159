"""The request for a new project, and the row built from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.models import User
from projects.credentials.verification import CredentialCheck
from projects.models import AgentType, Plan, Project
from projects.models.columns.operation import in_flight
from projects.models.operation import Claim
from projects.rules.budget import find_reset
from projects.rules.permissions import Egress
from projects.rules.status.lifecycle import Operation
from projects.services.credentials.server_credentials import keep_credentials
from projects.services.operations import time_allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProject:
    """A request for a project whose shape is valid. `is_first`: no earlier request had this id."""

    project_id: UUID = field(default_factory=uuid4)
    is_first: bool = False
    name: str
    agent_type: AgentType
    plan: Plan
    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    telegram_token: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    budget: Mapping[str, Any] = field(default_factory=dict)
    egress: str | None = None


@sensitive_variables("wanted")
def make_row(*, owner: User, wanted: NewProject, check: CredentialCheck, claim: Claim) -> Project:
    """Returns the unsaved project with its encrypted credentials."""
    now = clock.now()
    project = Project(
        id=wanted.project_id,
        owner=owner,
        instance=settings.BERTH_INSTANCE,
        name=wanted.name,
        agent_type=wanted.agent_type,
        plan=wanted.plan,
        memory_mb=wanted.plan.memory_mb,
        bot_id=check.bot_id,
        bot_unconfirmed_at=check.unconfirmed_at,
        bot_username=check.bot_username,
        provider=check.provider,
        generation=claim.generation,
        entry_version=1,
        sees_from=now,
        own_egress=wanted.egress or Egress.INTERNET,
        **in_flight(Operation.DEPLOY, claim.id, until=now + time_allowed()),
        created_at=now,
        updated_at=now,
        **{f"own_{name}": limit for name, limit in wanted.budget.items()},
    )
    vars(project).update(keep_credentials(project, wanted.settings))
    project.budget_until = find_reset(project.budget, {}, now)
    project.encrypt_credentials(telegram_token=wanted.telegram_token, api_key=wanted.api_key)
    if wanted.agent_type.pairs_people:
        vars(project).update(project.encrypt_pairing_secret(in_force_from=claim.generation))
    return project
