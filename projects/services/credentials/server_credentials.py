"""Credentials of servers that an agent uses. They are taken out of the owner's settings and stored separately."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.gateway.entries import ServerEntry, ServersEntry, new_virtual_pass
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import InvalidFieldError, UnusableSettingsError
from projects.models import AgentType, Project
from projects.models.columns.gateway import Servers
from projects.rules.permissions import Egress
from projects.rules.settings.keyed_servers import CredentialLineError, Separated, header_of, separate
from projects.rules.settings.schema import defaults_of
from projects.rules.settings.used_servers import check_use

NEEDS_GATEWAY = (
    "Credentials of servers are put in by the gateway, and there is none. Ask the staff for BERTH_GATEWAY=on, or leave "
    "these credentials out."
)


@sensitive_variables()
def check_server_credentials(agent_type: AgentType, chosen: Mapping[str, Any]) -> None:
    """Checks the credentials in the settings of a new project. Raises `InvalidFieldError`."""
    _separate(agent_type, chosen, {})


@sensitive_variables()
def keep_credentials(project: Project, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns to write for these settings.

    Raises `InvalidFieldError`, also if a stand-in refers to a stored credential that cannot be read.
    """
    try:
        kept = project.decrypt_servers()
    except SecretUnreadableError:
        kept = Servers("", {})
    separated = _separate(project.agent_type, chosen, kept.credentials)
    virtual = kept.virtual or new_virtual_pass()
    return {"settings": separated.settings, **project.encrypt_servers(separated.credentials, virtual=virtual)}


@sensitive_variables()
def servers_of(project: Project) -> ServersEntry | None:
    """Returns the servers for the gateway's entry. Raises `SecretUnreadableError`."""
    virtual, credentials = project.decrypt_servers()
    if not credentials:
        return None
    servers = []
    for address, credential in credentials.items():
        header = header_of(credential)
        servers.append(ServerEntry(base=address, header=header.name, value=header.value))
    return ServersEntry(virtual=virtual, servers=tuple(servers), only_hosts=project.egress == Egress.GATEWAY)


def ways_of(project: Project, gateway: str) -> dict[str, str]:
    """Returns the gateway's address for each server with a credential; none without a gateway.

    Raises `SecretUnreadableError` and `UnusableSettingsError`.
    """
    entry = servers_of(project)
    if entry and not settings.BERTH_GATEWAY:
        raise UnusableSettingsError(NEEDS_GATEWAY)
    return entry.ways(gateway) if entry and gateway else {}


@sensitive_variables()
def _separate(agent_type: AgentType, chosen: Mapping[str, Any], known: Mapping[str, str]) -> Separated:
    try:
        schema = agent_type.settings_schema
        separated = separate(schema, chosen, known)
        if separated.credentials.keys() - known.keys():
            check_use(schema, separated.settings, known, defaults=defaults_of(schema))
    except CredentialLineError as error:
        raise InvalidFieldError(str(error), field=error.path, code="invalid") from None
    if separated.credentials and not settings.BERTH_GATEWAY and separated.credentials.keys() - known.keys():
        raise InvalidFieldError(NEEDS_GATEWAY, field="settings", code="needs_gateway")
    return separated
