"""Signing in to the dashboard with a recovery code instead of the app's code."""

from django.test import Client

from accounts.models import User
from tests.accounts.conftest import Said
from tests.accounts.dashboard.signing_in import CODE, SIGN_IN, is_in
from tests.accounts.phone import Phone


def test_a_recovery_code_works_once_in_any_spelling(half_way: Client, phone: Phone, alice: User, said: Said) -> None:
    code = phone.recovery_codes[3]
    half_way.post(f"{CODE}?recovery", {"code": f" {code.upper().replace('-', ' ')} "})
    assert "Recovery codes left: 9." in half_way.get("/settings").content.decode()
    assert f"recovery_code_used user={alice.pk} left=9" in said()

    other = Client()
    other.post("/sign-in", SIGN_IN)
    other.post(f"{CODE}?recovery", {"code": code})
    assert not is_in(other)


def test_the_last_recovery_code_is_called_the_last(half_way: Client, phone: Phone, alice: User) -> None:
    alice.recovery_codes.exclude(pk=alice.recovery_codes.latest("pk").pk).delete()
    for code in phone.recovery_codes:
        half_way.post(f"{CODE}?recovery", {"code": code})
    page = half_way.get("/settings").content.decode()
    assert "Recovery codes left: 0. Make new ones in the settings now: this was the last one." in page
    assert "before" not in page.split("Recovery codes left</dt>")[1].split("</div>")[1]


def test_anothers_recovery_code_is_refused_and_kept(half_way: Client, bob: User) -> None:
    bobs = Phone()
    bobs.enrol(bob)
    half_way.post(f"{CODE}?recovery", {"code": bobs.recovery_codes[0]})

    assert not is_in(half_way)
    assert bob.recovery_codes.count() == 10
