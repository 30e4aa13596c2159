"""An action of a list that skips rows says why."""

import html

import pytest
from django.test import Client

from accounts.models import OutgoingMail, User
from accounts.models.outgoing_mail import MailState
from tests.clients import browser_of
from tests.factories import ApiKeyFactory, UserFactory

KEYS = "/admin/accounts/apikey/"
MAILS = "/admin/accounts/outgoingmail/"
OF_ADMINS, BEFORE = "Only admins revoke the keys of admins.", "Keys that were revoked before stay as they are."


def messages_of(client: Client, address: str, **form: object) -> str:
    return html.unescape(client.post(address, form, follow=True).content.decode())


@pytest.mark.parametrize(
    ("admins", "revoked", "live", "told"),
    [
        (1, 0, 0, [OF_ADMINS]),
        (0, 1, 0, [BEFORE]),
        (1, 1, 1, [OF_ADMINS, BEFORE]),
        (0, 0, 2, []),
    ],
)
def test_staff_learn_which_keys_were_not_revoked(
    sam: User, ada: User, admins: int, revoked: int, live: int, told: list[str]
) -> None:
    keys = [ApiKeyFactory.create(user=ada) for _ in range(admins)]
    keys += [ApiKeyFactory.create(user=UserFactory.create(), revoked=True) for _ in range(revoked)]
    keys += [ApiKeyFactory.create(user=UserFactory.create()) for _ in range(live)]
    phrase = str(keys[0]) if len(keys) == 1 else f"{len(keys)} API keys"
    page = messages_of(
        browser_of(sam), KEYS, action="revoke", _selected_action=[str(key.pk) for key in keys], confirm=phrase
    )
    assert f"Revoked: {live} of {len(keys)}." in page
    assert [sentence for sentence in (OF_ADMINS, BEFORE) if sentence in page] == told
    assert (f'<li class="warning">Revoked: {live}' in page) == bool(told)


@pytest.mark.parametrize(
    ("state", "due"), [(state, int(state not in {"sent", "not needed"})) for state in MailState.values]
)
def test_staff_learn_which_mails_are_not_sent_again(sam: User, state: str, due: int) -> None:
    mail = OutgoingMail.objects.create(kind="agent", user_id=sam.pk, state=state)
    page = messages_of(browser_of(sam), MAILS, action="send_again", _selected_action=[str(mail.pk)])
    assert f"Due now: {due} of 1." in page
    assert ("Mails that were sent, or that nobody needs any more, are not sent again." in page) == (not due)
