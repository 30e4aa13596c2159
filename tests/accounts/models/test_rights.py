"""A change of role or activity ends sessions and links, no matter what makes it, and even if it is undone."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from accounts.services.sign_in import set_password, sign_out_everywhere
from tests.accounts.dashboard.signing_in import CODE, SIGN_IN, is_in
from tests.accounts.phone import Phone
from tests.accounts.rights import ADMIN, RIGHTS, WRITERS, Change, back, by_hand, opens, set_password_path
from tests.clients import Call, browser_of
from tests.factories import ApiKeyFactory, plain_key

pytestmark = pytest.mark.one_database

NEW = {"new_password1": "a passphrase, entirely new", "new_password2": "a passphrase, entirely new"}
Check = Callable[[], bool]

every_writer = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS.keys())
every_right = pytest.mark.parametrize("rights", RIGHTS.values(), ids=RIGHTS.keys())


@pytest.fixture
def ways_in(call: Call, alice: User, phone: Phone) -> dict[str, Check]:
    """Every credential that gives access without Alice's password. Each is used once."""
    token, browser, opened = issue_session(alice), browser_of(alice), Client()
    fresh, path = set_password_path(alice), set_password_path(alice)
    assert opens(path, in_browser=opened)
    form = path.rpartition("/")[0] + "/set-password"
    return {
        "API session": lambda: bool(call("GET", "/api/auth/session", by=token).json()["authenticated"]),
        "dashboard session": lambda: is_in(browser),
        "link": lambda: opens(fresh),
        "opened link, shown again": lambda: opens(form, in_browser=opened),
        "opened link, sent": lambda: opened.post(form, NEW).status_code == 302,
    }


def test_each_credential_signs_in(ways_in: dict[str, Check]) -> None:
    """Otherwise the tests below would prove nothing."""
    assert [name for name, works in ways_in.items() if not works()] == []


@pytest.mark.sampled(3)
@every_writer
@every_right
@pytest.mark.parametrize("taken_back", [False, True])
def test_a_change_of_rights_ends_all_credentials(
    ways_in: dict[str, Check], alice: User, writer: Change, rights: dict[str, bool], taken_back: bool
) -> None:
    writer(alice, rights)
    if taken_back:
        writer(alice, back(rights))
    assert [name for name, works in ways_in.items() if works()] == []
    assert User.objects.get(pk=alice.pk).check_password("a passphrase, entirely new") is False


@every_right
def test_a_direct_change_ends_credentials_with_the_new_rights(
    ways_in: dict[str, Check], alice: User, rights: dict[str, bool]
) -> None:
    """A role gives no additional rights in the API."""
    by_hand(alice, rights)
    in_force = [name for name, works in ways_in.items() if works()]
    assert set(in_force) <= {"API session"}
    assert not in_force or rights["is_staff"]


@every_writer
def test_a_sign_in_waiting_for_its_code_ends_too(alice: User, phone: Phone, writer: Change) -> None:
    phone.enrol(alice)
    half_way = Client()
    half_way.post("/sign-in", SIGN_IN)
    writer(alice, ADMIN)
    half_way.post(CODE, {"code": phone.next_code()})
    assert not is_in(half_way)


@every_writer
def test_api_keys_stay(call: Call, alice: User, writer: Change) -> None:
    """Their owner revokes them, and those of an inactive user are refused."""
    key = plain_key(ApiKeyFactory.create(user=alice))
    writer(alice, ADMIN)
    assert call("GET", "/api/auth/session", by=key).json()["user"]["role"] == "admin"


@pytest.mark.sampled(3)
@every_writer
@every_right
def test_a_save_without_a_change_ends_nothing(
    ways_in: dict[str, Check], alice: User, writer: Change, rights: dict[str, bool]
) -> None:
    writer(alice, back(rights))  # so she was before
    assert [name for name, works in ways_in.items() if not works()] == []


def test_a_new_email_ends_links_and_no_session(ways_in: dict[str, Check], alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    assert [name for name, works in ways_in.items() if works()] == ["API session", "dashboard session"]


def test_a_sign_in_ends_links_and_no_session(ways_in: dict[str, Check], alice: User) -> None:
    Client().post("/sign-in", SIGN_IN)
    assert [name for name, works in ways_in.items() if works()] == ["API session", "dashboard session"]


@pytest.mark.parametrize("end", ["password", "everywhere", "shell password"])
def test_ending_all_sessions_ends_links_too(ways_in: dict[str, Check], alice: User, end: str) -> None:
    if end == "password":
        set_password(user=alice, password="another passphrase, entirely new")
    elif end == "everywhere":
        sign_out_everywhere(user=alice)
    else:
        user = User.objects.get(pk=alice.pk)
        user.set_password("another passphrase, entirely new")
        user.save()
    assert [name for name, works in ways_in.items() if works()] == []


# -- the count --------------------------------------------------------------------------------------------------------


def version(user: User) -> int:
    return User.objects.values_list("session_version", flat=True).get(pk=user.pk)


def test_an_object_that_was_read_earlier_does_not_set_the_version_back(alice: User) -> None:
    early = User.objects.get(pk=alice.pk)
    sign_out_everywhere(user=alice)
    early.email = "other@example.com"
    early.save()
    assert version(alice) == alice.session_version == early.session_version


def test_a_change_unknown_to_the_object_counts(alice: User) -> None:
    """The object says that Alice is not staff. In the database she is, so saving the object takes the role away."""
    early = User.objects.get(pk=alice.pk)
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    before = version(alice)
    early.save()
    assert (version(alice), early.session_version) == (before + 1, before + 1)


def test_each_row_of_an_update_counts_for_itself(alice: User, sam: User) -> None:
    before = version(alice), version(sam)
    User.objects.update(is_staff=True)
    assert (version(alice), version(sam)) == (before[0] + 1, before[1])
    User.objects.update(is_staff=F("is_superuser"), session_version=F("session_version"))
    assert (version(alice), version(sam)) == (before[0] + 2, before[1] + 1)


def test_a_failed_save_leaves_the_object_unchanged(alice: User, bob: User) -> None:
    held = alice.session_version
    alice.email, alice.is_staff = bob.email, True
    with pytest.raises(IntegrityError), transaction.atomic():
        alice.save()
    assert alice.session_version == held


def test_saving_other_fields_takes_one_query(alice: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        alice.save(update_fields=["last_login"])
