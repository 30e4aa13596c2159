"""Adds the gateway's counts to the tallies, before retention deletes their rows."""

from collections import Counter
from collections.abc import Collection
from uuid import UUID

from projects.models import HourlyUsage, Project, Provider
from projects.models.figures.tally import ANSWERED, FAILED, SENT, Labels, Subject, count_on
from projects.rules.settings.berth_settings import PROVIDERS
from projects.services.staff.metrics import OTHER

_COUNTED = ("messages", "requests", "errors", "input", "output")


def tally_usage(rows: Collection[HourlyUsage], *, store: str) -> None:
    """Adds the differences between these totals and those that they replace.

    Call it before the totals are written, in the same transaction.
    """
    tokens: Counter[Labels] = Counter()
    calls: Counter[Labels] = Counter()
    providers = _find_providers({row.project_id for row in rows})
    before = _read_before(rows, store=store)
    for row in rows:
        known = before.get((row.project_id, row.hour, row.model), (0,) * len(_COUNTED))
        messages, requests, errors, came, went = (
            max(0, getattr(row, name) - was) for name, was in zip(_COUNTED, known, strict=True)
        )
        provider = providers.get(row.project_id, OTHER)
        tokens.update({Labels(provider, "input"): came, Labels(provider, "output"): went})
        failed = min(errors, requests)
        calls.update({ANSWERED: requests - failed, FAILED: failed, SENT: messages})
    count_on(Subject.TOKENS, tokens)
    count_on(Subject.GATEWAY, calls)


def _find_providers(ids: Collection[UUID]) -> dict[UUID, str]:
    """Returns the provider of each project, or `OTHER` if it is neither built in nor added by staff.

    Deleted projects are missing.
    """
    known = {*PROVIDERS, *Provider.objects.values_list("slug", flat=True)}
    found = Project.objects.filter(pk__in=ids).values_list("pk", "provider")
    return {pk: provider if provider in known else OTHER for pk, provider in found}


def _read_before(rows: Collection[HourlyUsage], *, store: str) -> dict[tuple[object, ...], tuple[int, ...]]:
    ids, hours = {row.project_id for row in rows}, {row.hour for row in rows}
    found = HourlyUsage.objects.filter(store=store, project_id__in=ids, hour__in=hours).order_by()
    return {row[:3]: row[3:] for row in found.values_list("project_id", "hour", "model", *_COUNTED)}
