"""Gives projects what they need behind the gateway: an address on the agents' network, and virtual credentials."""

from ipaddress import IPv4Network
from typing import Any

from django.conf import settings
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from containers.gateway.entries import MARK, ProviderKind, new_virtual_key, new_virtual_token
from containers.gateway.vocabulary import Reach
from projects.credentials.encryption import SecretUnreadableError
from projects.models import Project
from projects.models.agent_address import has_address, take_address
from projects.models.columns.gateway import NEXT_VERSION, VIRTUAL_KEY, VIRTUAL_TOKEN
from projects.rules.named_providers import api_format_of
from projects.services.gateway.provisioning import Place


def goes_behind_gateway(project: Project) -> bool:
    """Returns whether the project's next container must be behind the gateway."""
    columns = (project.telegram_token_ciphertext, project.api_key_ciphertext, project.server_credentials_ciphertext)
    has_credential = any(columns)
    return settings.BERTH_GATEWAY and (has_credential or Reach(project.egress) is Reach.GATEWAY)


@sensitive_variables("values")
def equip_new(project: Project, place: Place) -> None:
    """Equips an unsaved project. Call it in the transaction that saves it. Raises `NoCapacityError`."""
    values = _missing_virtual(project) | {"address": take_address(place.network.addresses(Reach(project.egress)))}
    for field, value in values.items():
        setattr(project, field, value)
    project.is_behind_gateway = True


@sensitive_variables("values")
def equip(project: Project, place: Place, *, elsewhere: bool = False) -> None:
    """Writes what the row lacks. `elsewhere`: it needs another address than it has.

    The row always keeps an address, because without one the gateway would check the credential alone. Raises
    `NoCapacityError` and `ProjectGoneError`.
    """
    network = place.network.addresses(Reach(project.egress))
    values: dict[str, Any] = {**_missing_virtual(project)}
    needs_address = elsewhere or not has_address(project, network)
    version = NEXT_VERSION if values or needs_address else {}
    if not project.is_behind_gateway:
        values["is_behind_gateway"] = True
    if needs_address:
        _write_with_address(project, network, {**values, **version})
    elif values:
        Project.objects.filter(pk=project.pk).update(**values, **version)
    if written := [*values, *version, *(["address"] if needs_address else [])]:
        project.refresh_from_db(fields=written)


@sensitive_variables("values")
def _write_with_address(project: Project, network: IPv4Network, values: dict[str, Any]) -> None:
    rows = Project.objects.filter(pk=project.pk)
    with transaction.atomic():
        # If another start has given it another address meanwhile, that one stays.
        if not rows.filter(address=project.address).update(**values, address=take_address(network)):
            rows.update(**values)


@sensitive_variables()
def _missing_virtual(project: Project) -> dict[str, str]:
    """Returns the columns of virtual credentials that are missing or no longer have the format of the real ones."""
    values: dict[str, str] = {}
    if project.telegram_token_ciphertext:
        bot_id, known = project.bot_id or 0, _read_virtual(project, VIRTUAL_TOKEN)
        number, _, virtual = known.partition(":")
        if number != str(bot_id):
            # For another bot only the number changes, which the gateway does not check.
            fresh = f"{bot_id}:{virtual}" if virtual else new_virtual_token(bot_id)
            values |= project.encrypt_virtual(VIRTUAL_TOKEN, fresh)
    if project.api_key_ciphertext:
        fresh = new_virtual_key(ProviderKind(api_format_of(project.provider)))
        if not _read_virtual(project, VIRTUAL_KEY).startswith(fresh.partition(MARK)[0] + MARK):
            values |= project.encrypt_virtual(VIRTUAL_KEY, fresh)
    return values


@sensitive_variables()
def _read_virtual(project: Project, field: str) -> str:
    """Returns the virtual credential; also empty if its encryption key is gone, because it can be created again."""
    try:
        return project.decrypt_virtual(field)
    except SecretUnreadableError:
        return ""
