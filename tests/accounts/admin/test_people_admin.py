"""Staff see how many projects each user has and when the user was last here, keep notes, and invite many at once."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.core import mail as django_mail
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, OutgoingMail, User
from accounts.services import invitations, outbox
from accounts.services.invitations import ENOUGH_FOR_ONE, HAS_ACCOUNT, MAILS_PER_ACCOUNT, MOST
from tests.factories import ApiKeyFactory
from tests.mailing import deliver

USERS = "/admin/accounts/user/"
INVITE = f"{USERS}invite/"


@pytest.fixture
def office(client: Client, sam: User) -> Client:
    client.force_login(sam)
    return client


def test_each_address_gets_a_link_that_works_or_a_reason(office: Client, alice: User) -> None:
    emails = f"New@Example.com\n\n {alice.email}\nnonsense; new@example.com, other@example.com"
    page = office.post(INVITE, {"emails": emails}).content.decode()
    links = re.findall(r"([\w.]+@example\.com) https?://[^/]+(/set-password/\S+)", page)
    assert [email for email, _ in links] == ["new@example.com", "other@example.com"]
    assert page.count("This email has an account.") == 2
    assert "nonsense" in page
    assert Client().get(links[0][1], follow=True).status_code == 200
    made = User.objects.get(email="new@example.com")
    assert not made.has_usable_password()
    assert not made.is_staff


def test_addresses_may_have_names_as_in_a_mail(office: Client) -> None:
    emails = (
        'one@example.com, Ann Lee <Ann@example.com>, "Lee, Bob" <bob@example.com>; Ray, Carl <carl@example.com>\n'
        '"old@example.com" <dora@example.com>\n<eve@example.com> two@example.com\nno address\nfay@example.com <>\n'
    )
    page = office.post(INVITE, {"emails": emails}).content.decode()
    invited = User.objects.filter(email__endswith="@example.com").exclude(is_staff=True)
    names = ["ann", "bob", "carl", "dora", "eve", "fay", "one", "two"]
    assert sorted(invited.values_list("email", flat=True)) == [f"{name}@example.com" for name in names]
    assert page.count("Enter a valid email address") == 2  # “no” and “address”


@pytest.mark.parametrize("emails", [", ;", "<>", " < > ;", "<>, <>"])
def test_an_invitation_of_nobody_is_an_error(office: Client, emails: str) -> None:
    page = office.post(INVITE, {"emails": emails}).content.decode()
    assert "This contains no address. Enter at least one." in page


@pytest.mark.parametrize("emails", ["Ann Lee <>", "Ann Lee <>, one@example.com", "one@example.com\nAnn Lee < >"])
def test_a_name_without_an_address_is_not_left_out(office: Client, emails: str) -> None:
    page = office.post(INVITE, {"emails": emails}).content.decode()
    assert "Enter a valid email address" in page
    assert User.objects.filter(email="one@example.com").exists() == ("one@" in emails)


@pytest.fixture
def _by_mail(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True


def send(office: Client, *emails: str) -> str:
    return office.post(INVITE, {"emails": "\n".join(emails), "way": "mail"}).content.decode()


@pytest.mark.usefixtures("_by_mail")
def test_an_invitation_names_the_inviter_and_its_validity_and_works_once(
    office: Client, sam: User, alice: User
) -> None:
    page = send(office, "new@example.com", alice.email, "nonsense")
    assert "new@example.com: the mail is on its way." in page
    assert f"{alice.email}: This email has an account." in page
    assert "set-password" not in page
    assert deliver()
    [mail] = django_mail.outbox
    assert mail.to == ["new@example.com"]
    assert mail.body.startswith(f"{sam.email} invites you to ")
    until = timezone.now() + timedelta(days=3)
    assert f"until {until:%Y-%m-%d} at " in mail.body
    [link] = re.findall(r"https?://[^/]+(/set-password/\S+)", str(mail.body))
    assert Client().get(link, follow=True).status_code == 200
    assert "set-password" not in str(OutgoingMail.objects.values())
    assert list(LogEntry.objects.values_list("object_repr", "action_flag")) == [("new@example.com", ADDITION)]


@pytest.mark.usefixtures("_by_mail")
def test_a_user_who_never_signed_in_can_be_invited_a_few_times(office: Client, alice: User, ada: User) -> None:
    for _ in range(MAILS_PER_ACCOUNT):
        assert "on its way" in send(office, "new@example.com")
    assert ENOUGH_FOR_ONE in send(office, "new@example.com")
    made = User.objects.get(email="new@example.com")
    for fields in ({"is_active": False}, {"is_staff": True}, {"last_login": timezone.now()}):
        User.objects.filter(pk=made.pk).update(**{"is_active": True, "is_staff": False, "last_login": None, **fields})
        assert HAS_ACCOUNT in send(office, "new@example.com")
    assert OutgoingMail.objects.count() == MAILS_PER_ACCOUNT


@pytest.mark.usefixtures("_by_mail")
@pytest.mark.parametrize(
    "change", [{"email": "new@example.com", "password": "x"}, {"email": "sam@example.com", "is_staff": False}], ids=str
)
def test_active_users_are_not_invited_and_only_staff_invite(office: Client, change: Any) -> None:
    send(office, "new@example.com")
    User.objects.filter(email=change["email"]).update(**change)
    assert deliver()
    assert django_mail.outbox == []
    assert OutgoingMail.objects.get().state == "not needed"


@pytest.mark.usefixtures("_by_mail")
def test_an_address_that_cannot_get_mail_gets_no_account(office: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MAILS_A_DAY", 1)
    page = send(office, "one@example.com", "two@example.com")
    assert f"two@example.com: {invitations.ENOUGH}" in page
    monkeypatch.setattr(invitations, "MAILS_A_DAY", 9)
    monkeypatch.setattr(outbox, "MOST_WAITING", 1)
    assert invitations.NO_ROOM in send(office, "two@example.com")
    assert not User.objects.filter(email="two@example.com").exists()


def test_without_a_mail_server_no_mail_is_offered(office: Client) -> None:
    assert "BERTH_EMAIL_URL" in office.get(INVITE).content.decode()
    assert "set-password" in send(office, "new@example.com")
    assert not OutgoingMail.objects.exists()


def test_too_many_at_once_make_none(office: Client) -> None:
    before = User.objects.count()
    page = office.post(INVITE, {"emails": "\n".join(f"u{number}@example.com" for number in range(MOST + 1))})
    assert "Invite at most" in page.content.decode()
    assert User.objects.count() == before


def test_only_staff_invite(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.post(INVITE, {"emails": "x@example.com"}, follow=True).status_code == 403
    assert not User.objects.filter(email="x@example.com").exists()


def test_a_form_without_its_csrf_token_invites_nobody(sam: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(sam)
    assert client.post(INVITE, {"emails": "x@example.com"}).status_code == 403


def test_notes_are_kept_and_found_and_a_key_counts_as_being_seen(office: Client, alice: User) -> None:
    form = {"email": alice.email, "is_active": "on", "notes": "Pays by invoice"}
    assert office.post(f"{USERS}{alice.pk}/change/", form).status_code == 302
    ApiKeyFactory.create(user=alice)
    ApiKey.objects.update(last_used_at=timezone.now().replace(year=2031, month=5, day=4))
    page = office.get(f"{USERS}?q=invoice").content.decode()
    assert "Pays by invoice" in page
    assert "4 May 2031" in page
