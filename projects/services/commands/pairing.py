"""Creates codes by which people pair with an agent."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from containers.agent_contract import PairingKind
from projects.errors import PairingUnknownError
from projects.models import Actor, Project
from projects.rules.bot import address_of
from projects.rules.pairing import PairingMode
from projects.rules.status.lifecycle import Desired
from projects.services.commands.update import check_may_be_changed
from projects.services.operations import operation_in_progress

VALID_FOR = timedelta(days=1)

PAIR = "pairing"
"""The action of the event."""

KINDS = {PairingMode.ADD: PairingKind.ADD, PairingMode.REPLACE: PairingKind.REPLACE}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingLink:
    """The first person who sends the code to the bot is paired. `url` is empty if the bot's name is unknown."""

    mode: PairingMode
    code: str
    url: str
    expires_at: datetime
    needs_start: bool


@sensitive_variables()
def make_pairing_link(*, project: Project, mode: PairingMode, actor: Actor) -> PairingLink:
    """Creates a code with a number of its own. It is valid once, within a day.

    A project from before pairing existed pairs from its next start on, and then answers nobody else.

    Raises `PairingUnknownError`, `ProjectSuspendedError`, `SecretUnreadableError`, and `OperationInProgressError` for a
    project that is being deleted.
    """
    check_may_be_changed(project)
    if not (project.pairs or project.agent_type.pairs_people):
        raise PairingUnknownError(
            f"The agents of the type “{project.agent_type.title}” do not pair with people. List them in allowed_users."
        )
    with transaction.atomic():
        _take_number(project)
        expires_at = (clock.now() + VALID_FOR).astimezone(UTC).replace(microsecond=0)
        code = project.sign_code(KINDS[mode], expires=int(expires_at.timestamp()))
        project.event(actor, PAIR, "done", detail=mode.value).save()
    return PairingLink(
        mode=mode,
        code=code,
        url=address_of(project.bot_username, code),
        expires_at=expires_at,
        needs_start=project.needs_start_to_pair,
    )


def _take_number(project: Project) -> None:
    """Takes the next number, and creates a secret if there is none, unless another request has done so.

    The statement itself reads the generation, because an operation that has begun since creates its container without
    the secret.
    """
    rows = Project.objects.filter(pk=project.pk, suspended_at=None).exclude(desired=Desired.DELETED)
    if not project.pairs:
        new = project.encrypt_pairing_secret(in_force_from=F("generation") + 1)
        rows.filter(pairing_secret_ciphertext="").update(**new)
    if not rows.update(pairing_number=F("pairing_number") + 1):
        project.refresh_from_db()
        check_may_be_changed(project)
        raise operation_in_progress(project)
    project.refresh_from_db()
