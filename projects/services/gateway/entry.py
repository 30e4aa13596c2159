"""Builds a project's entry for the gateway from rows and settings alone."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.gateway.entries import BotEntry, Budget, Entry, Price, ProviderEntry, ProviderKind, Spent
from projects.credentials.verification import PROBES
from projects.models import ModelPrice, Project
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.models.columns.gateway import VIRTUAL_KEY, VIRTUAL_TOKEN
from projects.models.provider import find_named
from projects.rules.budget import MILLION, in_millionths
from projects.rules.status.lifecycle import Desired
from projects.services.credentials.server_credentials import servers_of

FORMAT = 2
"""Raise this when entries get a new field, so that entries of an older version are sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayMessage:
    """A message about a project to the gateway. Without an entry it says that the credentials are void."""

    project: str
    version: int
    entry: Entry | None
    node: str = ""
    """The node whose gateway may have a lease for it, if there are several."""
    leaves: bool = False
    """Whether that gateway is told that the project is void, so that another node can take it."""


def is_in_force(project: Project) -> bool:
    """Returns whether the virtual credentials are valid: the agent should run, and has them or will have them."""
    facts = project.facts()
    is_held = facts.suspended or facts.gave_up or facts.kept_down
    return facts.desired == Desired.RUNNING and not is_held and (project.is_behind_gateway or settings.BERTH_GATEWAY)


@sensitive_variables()
def make_message(
    project: Project, *, prices: Mapping[str, Price], knows_sources: bool, spent: tuple[Spent, ...] = ()
) -> GatewayMessage:
    """Returns the message about a project. Its row must be read before the prices. Raises `SecretUnreadableError`."""
    if not is_in_force(project):
        return make_void(project)
    entry = replace(make_entry(project, prices=prices, knows_sources=knows_sources), spent=spent)
    return replace(make_void(project), entry=entry)


def make_void(project: Project) -> GatewayMessage:
    key, node = project.container_key, project.gateway_node
    return GatewayMessage(project=key, version=project.entry_version, entry=None, node=node, leaves=project.leaves_node)


@sensitive_variables()
def make_entry(project: Project, *, prices: Mapping[str, Price], knows_sources: bool) -> Entry:
    """Returns the project's entry. Raises `SecretUnreadableError`."""
    budget = project.budget
    return Entry(
        project=project.container_key,
        address=project.address if knows_sources else None,
        leased=settings.BERTH_GATEWAY_ON_EACH_NODE,
        assigned=settings.BERTH_GATEWAY_ON_EACH_NODE,
        bot=_make_bot(project),
        provider=_make_provider(project),
        servers=servers_of(project),
        models=project.permitted_models,
        hosts=frozenset(project.agent_type.host_names),
        prices=prices,
        budget=Budget(
            day_tokens=budget.day_tokens,
            month_tokens=budget.month_tokens,
            day_money=None if budget.day_money is None else in_millionths(budget.day_money),
            month_money=None if budget.month_money is None else in_millionths(budget.month_money),
        ),
    )


@sensitive_variables()
def _make_bot(project: Project) -> BotEntry | None:
    token, virtual = project.decrypt_credential(TELEGRAM_TOKEN), project.decrypt_virtual(VIRTUAL_TOKEN)
    if not (token and virtual):
        return None
    return BotEntry(virtual_token=virtual, token=token, base=settings.BERTH_TELEGRAM_API)


@sensitive_variables()
def _make_provider(project: Project) -> ProviderEntry | None:
    key, virtual = project.decrypt_credential(API_KEY), project.decrypt_virtual(VIRTUAL_KEY)
    if not (key and virtual):
        return None
    kind, base = kind_of(project.provider), base_of(project.provider)
    if not base:
        return None  # staff have removed it
    return ProviderEntry(virtual_key=virtual, key=key, kind=kind, base=base)


def kind_of(provider: str) -> ProviderKind:
    """Returns the kind of provider. An operator's own base URL and added providers count as compatible."""
    is_known = provider in PROBES and not settings.BERTH_PROVIDER_API
    return ProviderKind(provider) if is_known else ProviderKind.COMPATIBLE


def base_of(provider: str) -> str:
    """Returns the provider's base URL, or an empty text if the provider no longer exists."""
    if settings.BERTH_PROVIDER_API or provider in PROBES:
        return settings.BERTH_PROVIDER_API or PROBES[provider].rpartition("/")[0]
    named = find_named(provider)
    return named.base_url if named else ""


def read_prices() -> dict[str, Price]:
    return {
        row.model: Price(
            input=int(row.input * MILLION),
            output=int(row.output * MILLION),
            cached=int((row.input if row.cached is None else row.cached) * MILLION),
        )
        for row in ModelPrice.objects.all()
    }


def digest_settings(*, knows_sources: bool) -> str:
    """Returns a digest of everything in entries that does not come from rows. If it changes, every entry changes."""
    facts = [FORMAT, settings.BERTH_TELEGRAM_API, settings.BERTH_PROVIDER_API, sorted(PROBES.items()), knows_sources]
    facts += ["leased"] if settings.BERTH_GATEWAY_ON_EACH_NODE else []
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
