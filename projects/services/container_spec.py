"""Builds the specification of a project's container."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.agent_contract import AGENT_USER, SECRETS_PATH, AgentState, SecretFile, Variable
from containers.gateway.vocabulary import Reach
from containers.identity import installation_id
from containers.vocabulary import INSTALLATION_LABEL, INSTANCE_LABEL, PROJECT_LABEL, ContainerSpec
from projects.credentials.verification import PROBES
from projects.errors import UnusableSettingsError
from projects.models import AgentType, Project
from projects.models.catalogue import disk_ceiling
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.models.columns.gateway import VIRTUAL_KEY, VIRTUAL_TOKEN
from projects.models.provider import find_named, own_settings_for
from projects.rules.named_providers import NamedProvider, api_format_of
from projects.rules.permissions import Egress
from projects.rules.settings.berth_settings import PROVIDERS, check_own_settings
from projects.rules.settings.schema import defaults_of
from projects.rules.settings.used_servers import for_agent
from projects.rules.type_facts import CREDENTIALS, as_text, fill_variables, places_in
from projects.services.credentials.server_credentials import ways_of
from projects.services.gateway.provisioning import Place

OWNER_LABEL = "berth.owner"

PUBLIC_TELEGRAM_API = "https://api.telegram.org"

NEEDS_GATEWAY = (
    "This agent type takes its credentials as variables, which only virtual ones may be: it needs the gateway. "
    "Ask the staff for BERTH_GATEWAY=on, or for a type that reads its credentials from files."
)


@sensitive_variables()
def build_spec(project: Project, place: Place | None = None) -> ContainerSpec:
    """Builds the specification: with the gateway's `place`, it has virtual credentials, otherwise the real ones.

    Raises `SecretUnreadableError` and `UnusableSettingsError`.
    """
    real = _real_secrets(project)
    secrets = _virtual_secrets(project, real) if place else real
    return ContainerSpec(
        name=project.container_name,
        image=project.image_id or project.agent_type.image,
        labels=labels_of(project),
        generation=project.generation,
        environment=_environment(project, place, secrets),
        secrets={file.value: value for file, value in secrets.items() if value} | _pairing_secret(project),
        memory=project.memory,
        nano_cpus=project.plan.nano_cpus,
        pids=project.plan.pids,
        stop_timeout=project.agent_type.stop_timeout,
        user=project.uid or AGENT_USER,
        disk_ceiling=disk_ceiling(),
        plan=project.plan.slug,
        address=project.address if place else None,
        reach=Reach(project.egress) if place else Reach.INTERNET,
        has_state=project.has_state,
        well_since=project.started_at if project.agent_state in {AgentState.RUNNING, AgentState.STOPPED} else None,
    )


@sensitive_variables()
def check_spec(project: Project) -> None:
    """Raises what `build_spec` raises."""
    _environment(project, None, _real_secrets(project))


@sensitive_variables()
def _real_secrets(project: Project) -> dict[SecretFile, str]:
    return {
        SecretFile.TELEGRAM_BOT_TOKEN: project.decrypt_credential(TELEGRAM_TOKEN),
        SecretFile.AGENT_API_KEY: project.decrypt_credential(API_KEY),
    }


@sensitive_variables()
def _virtual_secrets(project: Project, real: Mapping[SecretFile, str]) -> dict[SecretFile, str]:
    """Returns virtual credentials in the same files, one for each real credential."""
    fields = {SecretFile.TELEGRAM_BOT_TOKEN: VIRTUAL_TOKEN, SecretFile.AGENT_API_KEY: VIRTUAL_KEY}
    return {file: project.decrypt_virtual(field) for file, field in fields.items() if real[file]}


@sensitive_variables()
def _pairing_secret(project: Project) -> dict[str, str]:
    secret = project.decrypt_pairing_secret()
    return {SecretFile.PAIRING_SECRET.value: secret} if secret else {}


def labels_of(project: Project) -> dict[str, str]:
    return {
        INSTANCE_LABEL: project.instance,
        INSTALLATION_LABEL: installation_id(),
        PROJECT_LABEL: project.container_key,
        OWNER_LABEL: str(project.owner_id),
    }


def _environment(project: Project, place: Place | None, secrets: Mapping[SecretFile, str]) -> dict[str, str]:
    bases = (f"{place.address.url}/tg", f"{place.address.url}/llm/v1") if place else None
    virtual = secrets if place else None
    ways = ways_of(project, place.address.url if place else "")
    given = variables_of(
        project.agent_type, project.settings, project.provider, bases=bases, virtual=virtual, ways=ways
    )
    return given | (_way_out(project, place) if place else {})


@sensitive_variables()
def variables_of(
    agent_type: AgentType,
    own_settings: Mapping[str, Any],
    provider: str,
    *,
    bases: tuple[str, str] | None,
    virtual: Mapping[SecretFile, str] | None,
    ways: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Returns the variables of the agent contract, and the type's own ones for an image without the contract.

    Behind the gateway, `bases` are its addresses for Telegram and the provider, `virtual` are the virtual credentials,
    and `ways` are its addresses for servers whose credentials it adds. Raises `UnusableSettingsError`.
    """
    check_own_settings(own_settings, own=own_settings_for(own_settings))
    named = _find_provider(provider)
    schema = agent_type.settings_schema
    chosen = for_agent(schema, {**defaults_of(schema), **own_settings}, ways)
    model = chosen.get("model") or agent_type.default_model_of(provider)
    own_base = settings.BERTH_PROVIDER_API or (named.base_url if named else "")
    telegram_api, provider_api = bases or (settings.BERTH_TELEGRAM_API, own_base)
    environment = {
        Variable.TELEGRAM_API_BASE: telegram_api,
        Variable.AGENT_API_BASE: provider_api,
        Variable.AGENT_PROVIDER: api_format_of(provider),
        Variable.AGENT_MODEL: str(model or ""),
        Variable.AGENT_INSTRUCTIONS: str(chosen.get("instructions", "")),
        Variable.AGENT_ALLOWED_USERS: as_text(chosen.get("allowed_users", [])),
        Variable.AGENT_SETTINGS: json.dumps(chosen, separators=(",", ":"), sort_keys=True) if chosen else "",
    }
    given = {variable.value: value for variable, value in environment.items() if value}
    return given | _own_variables(agent_type, environment, chosen, virtual)


def _find_provider(provider: str) -> NamedProvider | None:
    """Returns the provider that staff added with this name, or None for a built-in one.

    Raises `UnusableSettingsError` if there is none, so that the key is not sent to another provider.
    """
    named = find_named(provider)
    if provider and not (named or provider in PROVIDERS or settings.BERTH_PROVIDER_API):
        raise UnusableSettingsError(f"The provider {provider} no longer exists. Choose another in the settings.")
    return named


@sensitive_variables()
def _own_variables(
    agent_type: AgentType,
    environment: Mapping[Variable, str],
    chosen: Mapping[str, Any],
    virtual: Mapping[SecretFile, str] | None,
) -> dict[str, str]:
    """Returns the type's own variables.

    Raises `UnusableSettingsError` if they need a credential and the gateway is off, because they may not get real ones.
    """
    if not settings.BERTH_GATEWAY and places_in(agent_type.variables) & set(CREDENTIALS):
        raise UnusableSettingsError(NEEDS_GATEWAY)
    credentials, provider = virtual or {}, environment[Variable.AGENT_PROVIDER]
    facts = {
        "telegram_api": environment[Variable.TELEGRAM_API_BASE] or PUBLIC_TELEGRAM_API,
        "provider_api": environment[Variable.AGENT_API_BASE] or PROBES.get(provider, "").rpartition("/")[0],
        "provider": provider,
        "model": environment[Variable.AGENT_MODEL],
        "instructions": environment[Variable.AGENT_INSTRUCTIONS],
        "allowed_users": environment[Variable.AGENT_ALLOWED_USERS],
        "settings": environment[Variable.AGENT_SETTINGS],
        "telegram_token_file": f"{SECRETS_PATH}/{SecretFile.TELEGRAM_BOT_TOKEN}",
        "api_key_file": f"{SECRETS_PATH}/{SecretFile.AGENT_API_KEY}",
        "telegram_token": credentials.get(SecretFile.TELEGRAM_BOT_TOKEN, ""),
        "api_key": credentials.get(SecretFile.AGENT_API_KEY, ""),
    }
    return fill_variables(agent_type.variables, facts=facts, settings=chosen)


def _way_out(project: Project, place: Place) -> dict[str, str]:
    """Returns the proxy variables of an agent that can reach only the gateway, even if it has no allowed hosts yet, so
    that the first one is in force without a restart. The gateway's own address has no https, and needs no proxy.
    """
    if project.egress != Egress.GATEWAY:
        return {}
    return dict.fromkeys(("HTTPS_PROXY", "https_proxy"), place.address.url)
