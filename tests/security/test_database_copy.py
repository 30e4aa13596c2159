"""A copy of the database gives nobody access. Generated: a new table or column is included."""

import pytest
from django.contrib.sessions.models import Session

from accounts.credentials.dashboard_sessions import SessionStore, digest_session_key
from accounts.models import ApiKey
from tests.sampling import Some
from tests.security.database_copy import DOORS, values
from tests.security.live_credentials import Credentials


def test_each_entrance_opens_with_its_credential(live: Credentials) -> None:
    """Otherwise the next test would prove nothing. Credentials that work once come last."""
    assert live.by_door.keys() == DOORS.keys()
    for door, credentials in live.by_door.items():
        shut = [credential for credential in credentials if not DOORS[door](credential)]
        # The period of the app's first code is used up.
        assert len(shut) == (1 if door == "code" else 0), door


@pytest.mark.rare(1)
@pytest.mark.one_database
def test_no_value_of_the_database_opens_an_entrance(live: Credentials, some: Some) -> None:
    """Every value of every column, as it is, decoded, and in its parts.
    Each run tries other values at each entrance."""
    tried = values()
    assert len(tried) > 300
    for number, (name, door) in enumerate(DOORS.items()):
        assert [value for value in some(sorted(tried), one_in=3, first=number) if door(value)] == [], name


def test_no_stored_value_contains_a_credential(live: Credentials) -> None:
    haystack = "\n".join(values()).lower()
    assert [credential for credential in live.all if credential.lower() in haystack] == []
    assert len(live.all) > 15


def test_a_copy_with_a_credential_would_be_noticed(live: Credentials) -> None:
    row = Session.objects.get(session_key=digest_session_key(live.by_door["session cookie"][0]))
    token, link = live.by_door["token or key"][0], live.by_door["set-password link"][0]
    other = SessionStore()
    other["held"] = {"link": [link]}
    other.create()
    ApiKey.objects.update(name=token[:64])
    Session.objects.filter(pk=row.pk).update(session_key="undigested")
    found = values()
    assert {link, token[:64], "undigested"} <= found
    assert DOORS["set-password link"](link)
