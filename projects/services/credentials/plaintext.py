"""Encrypts credentials of servers that are stored in the settings in plain text.

An older version of Berth, which keeps running while the database is migrated, stores them like any other setting.
"""

import logging
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from containers.gateway.entries import new_virtual_pass
from projects.credentials.encryption import SecretUnreadableError
from projects.models import AgentType, Project
from projects.models.columns.gateway import NEXT_VERSION
from projects.rules.settings.keyed_servers import has_plain, marked, take_out

log = logging.getLogger(__name__)

AT_ONCE = 5000
"""The number of rows in one step."""


@sensitive_variables()
def encrypt_plain(*, after: UUID | None = None) -> UUID | None:
    """Checks the next rows. Returns the id of the last one, from which to continue, or None at the end."""
    schemas = {row.pk: row.settings_schema for row in AgentType.objects.all() if marked(row.settings_schema)}
    rows = Project.objects.filter(instance=settings.BERTH_INSTANCE, agent_type__in=schemas).order_by("pk")
    if after is not None:
        rows = rows.filter(pk__gt=after)
    last: UUID | None = rows.values_list("pk", flat=True)[AT_ONCE - 1 : AT_ONCE].first()
    if last is not None:
        rows = rows.filter(pk__lte=last)
    names = sorted({name for schema in schemas.values() for name in marked(schema)})
    found = rows.filter(settings__has_any_keys=names).values_list("pk", "agent_type_id", "settings")
    for pk, agent_type, chosen in found.iterator(chunk_size=200):
        if has_plain(schemas[agent_type], chosen):
            _seal(pk)
    return last


@sensitive_variables()
def _seal(pk: UUID) -> None:
    """Encrypts the credentials as a change of the settings would. It takes effect at the agent's next start."""
    with transaction.atomic():
        project = Project.objects.select_for_update(of=("self",)).select_related("agent_type").filter(pk=pk).first()
        if project is None or not has_plain(project.agent_type.settings_schema, project.settings):
            return
        try:
            virtual, known = project.decrypt_servers()
        except SecretUnreadableError as error:
            log.warning("Credentials of servers stay among the settings: %s", error)
            return
        # Without the gateway a change would refuse new ones, and the agent would not start with them.
        schema, may_be_new = project.agent_type.settings_schema, settings.BERTH_GATEWAY
        taken = take_out(schema, project.settings, known, may_be_new=may_be_new)
        columns = project.encrypt_servers(taken.credentials, virtual=virtual or new_virtual_pass())
        rows = Project.objects.filter(pk=pk)
        rows.update(settings=taken.settings, **columns, **NEXT_VERSION, updated_at=clock.now())
    log.warning(
        "The settings of project %s had credentials of servers in plain text. %s are encrypted now, others are gone.",
        pk,
        len(taken.credentials),
    )
