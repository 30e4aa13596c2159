"""Every column that may hold a secret is listed, and holds what the list says."""

import re

from django.contrib.sessions.models import Session

from accounts.credentials.dashboard_sessions import digest_session_key
from accounts.models import RecoveryCode
from tests.security.database_copy import columns, stored
from tests.security.live_credentials import Credentials

# What each column that may hold a secret has instead of one. A new column is added here with its content.
HELD = {
    "accounts_apikey.digest": r"[0-9a-f]{64}",
    "accounts_opensession.token": r"[0-9a-f]{32}|[0-9a-f]{40}",
    "accounts_recoverycode.digest": r"[0-9a-f]{64}",
    "accounts_revokedsession.jti": r"[0-9a-f]{32}",
    "accounts_secondfactor.sealed_secret": r"gAAAA[\w-]+={0,2}",
    "accounts_user.password": r"(md5|argon2)\$.+|!.+",
    "cache.cache_key": r":1:greeting",
    "django_session.session_data": r"[\w.:-]+",
    "django_session.session_key": r"[0-9a-f]{40}",
    "projects_alertchannel.address_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_alertchannel.secret_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_alertchannel.secret_hint": r".{4}",
    "projects_canary.ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_idempotencyrecord.digest": r"[0-9a-f]{64}",
    "projects_idempotencyrecord.key": r"retry",
    "projects_project.api_key_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_project.api_key_hint": r".{4}",
    "projects_project.pairing_secret_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_project.server_credentials_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_project.telegram_token_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_project.telegram_token_hint": r".{4}",
    "projects_project.virtual_key_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_project.virtual_token_ciphertext": r"gAAAA[\w-]+={0,2}",
}


SECRET = re.compile(
    r"digest|token|secret|sealed|cipher|hash|passw|session_key|session_data|jti|nonce|salt|cookie|credential|(^|_)key"
)


NO_SECRETS = {
    "accounts_user.session_version",
    "projects_agenttype.needs_api_key",
    "projects_agenttype.needs_telegram_token",
    "projects_provider.key_prefix",
    *(f"projects_{table}.{period}_tokens" for table in ("plan", "spending") for period in ("day", "month")),
    *(f"projects_project.{whose}_{period}_tokens" for whose in ("own", "granted") for period in ("day", "month")),
    "projects_gateway.told_digest",
    "projects_quarantined.key",
    "projects_quarantined.owner_key",
}
"""Columns whose names sound like secrets: ids, descriptions of secrets, and tokens of models."""


def test_every_column_that_may_hold_a_secret_is_listed(db: None) -> None:
    named = {name for name in columns() if SECRET.search(name.partition(".")[2])}
    assert named - NO_SECRETS == set(HELD)


def test_each_column_holds_the_listed_form(live: Credentials) -> None:
    found = stored()
    for column, shape in HELD.items():
        if column != "projects_canary.ciphertext":  # a start of the service writes it
            assert found[column], column
        assert [value for value in found[column] if not re.fullmatch(shape, value)] == [], column


def test_digests_match_the_credentials(live: Credentials) -> None:
    keys = set(Session.objects.values_list("session_key", flat=True))
    cookies = [cookie for door, each in live.by_door.items() if "cookie" in door for cookie in each]
    assert {digest_session_key(cookie) for cookie in cookies} <= keys
    assert not set(cookies) & keys
    assert RecoveryCode.objects.count() == 10
