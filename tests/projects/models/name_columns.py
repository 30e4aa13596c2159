"""Every text column that a form could offer, and which of them are names."""

from typing import Any

from django.apps import apps
from django.db.models import CharField, TextField

TYPED_BY_NOBODY = {
    "accounts.user.password": "a hash",
    "accounts.user.email": "has a stricter check of its own: tests/accounts/test_hostile_emails.py",
    "accounts.knownnetwork.network": "an address",
    "accounts.opensession.program": "two words of ours, or printable ASCII",
    "accounts.revokedsession.jti": "drawn by lot",
    "accounts.logincounter.account": "a digest",
    "accounts.logincounter.address": "an address",
    "accounts.usagecounter.subject": "an id or an address",
    "accounts.usagecounter.scope": "one of ours",
    "accounts.outgoingmail.kind": "one of ours",
    "accounts.outgoingmail.last_error": "made from what the mail server said, cleaned",
    "projects.event.actor": "an email or one of ours",
    "projects.event.source": "the session, the name of a key, or one of ours",
    "projects.event.action": "one of ours",
    "projects.event.outcome": "one of ours",
    "projects.event.detail": "a sentence of ours",
    "projects.plan.allowed_models": "has a stricter check of its own: tests/projects/gateway/test_hosts_and_models.py",
    "projects.agenttype.allowed_models": "likewise",
    "projects.agenttype.allowed_hosts": "likewise",
    "projects.agenttype.default_models": "has a stricter check of its own: tests/projects/rules/test_type_facts.py",
    "projects.agenttype.variables": "likewise, and lines",
    "projects.quarantined.key": "an id",
    "projects.quarantined.instance": "BERTH_INSTANCE",
    "projects.quarantined.owner_key": "an id",
    "projects.quarantined.container_name": "the engine's",
    "projects.alertdelivery.kind": "one of ours",
    "projects.alertdelivery.last_answer": "a sentence of ours",
    "projects.trouble.told": "one of ours",
    "projects.idempotencyrecord.key": "printable ASCII only: projects/api/parameters.py",
    "projects.idempotencyrecord.digest": "a digest",
    "projects.idempotencyrecord.answer": "our own answer",
    "projects.eventcursor.name": "one of ours",
    "projects.keycheck.ciphertext": "encrypted",
    "projects.run.container_id": "the engine's",
    "projects.run.log": "the agent's output, cleaned",
    "projects.watch.instance": "BERTH_INSTANCE",
    "projects.watch.holder": "one of ours",
    "projects.watch.firewall_warning": "a sentence of ours",
    "projects.watch.names_warning": "a sentence of ours",
    "projects.enginehost.instance": "BERTH_INSTANCE",
    "projects.enginehost.engine_version": "the engine's, letters and digits",
    "projects.enginehost.lacks": "words of the program",
    "projects.gateway.instance": "BERTH_INSTANCE",
    "projects.gateway.store": "drawn by lot",
    "projects.gateway.subnet": "the engine's",
    "projects.gateway.told_digest": "a digest",
    "projects.gateway.warning": "a sentence of ours",
    "projects.hourlyusage.model": "what the agent asked for, cleaned: tests/projects/gateway/test_usage_names.py",
    "projects.hourlyusage.store": "drawn by lot",
}
"""Every other text column that a form could offer, and why it needs no such check."""


def text_columns() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for model in (*apps.get_app_config("accounts").get_models(), *apps.get_app_config("projects").get_models()):
        for field in model._meta.get_fields():
            if isinstance(field, CharField | TextField) and field.editable and not field.choices:
                found[f"{model._meta.label_lower}.{field.name}"] = field
    return found


NAMES = sorted(text_columns().keys() - TYPED_BY_NOBODY.keys())
