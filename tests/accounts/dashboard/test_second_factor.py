"""Setting up the second factor, its recovery codes, and who may open its pages."""

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.credentials.one_time_codes import enrolment_url, make_recovery_code
from accounts.credentials.session_tokens import issue_session
from accounts.errors import SecondFactorExistsError
from accounts.models import RecoveryCode, SecondFactor, User
from accounts.services.second_factor import check_second_factor, enrol_second_factor
from tests.accounts.conftest import Said
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call

BEGIN = "/settings/second-factor"
CONFIRM, PICTURE, CODES, OFF = (f"{BEGIN}/{name}" for name in ("confirm", "picture.svg", "codes", "off"))
PASSWORD = {"password": CANARY_PASSWORD}


def _key_on(page: str) -> str:
    found = re.search(r'id="second-factor-key">([A-Z2-7 ]+)<', page)
    assert found is not None
    return found[1]


def _codes_on(page: str) -> list[str]:
    return re.findall(r"[a-z2-7]{6}(?:-[a-z2-7]{6}){3}", page)


def test_from_the_password_to_the_recovery_codes(alices: Client, alice: User, phone: Phone, said: Said) -> None:
    page = alices.post(BEGIN, PASSWORD, follow=True)
    assert page.redirect_chain == [(CONFIRM, 302)]
    phone.scan(_key_on(page.content.decode()))
    shown = alices.post(CONFIRM, {"code": phone.code()}).content.decode()

    assert len(set(_codes_on(shown))) == 10
    assert said() == [f"second_factor_enrolled user={alice.pk}"]
    for code in (phone.next_code(), _codes_on(shown)[0]):
        check_second_factor(user=alice, code=code, address=None)
    assert alices.get("/settings").status_code == 200  # still signed in


def test_the_password_is_asked_for_again_and_is_not_to_be_guessed(alices: Client) -> None:
    pages = [alices.post(BEGIN, {"password": "wrong"}).content.decode() for _ in range(11)]

    assert all("This is not your password." in page for page in pages[:10])
    assert "Too many failed attempts" in pages[10]
    assert alices.get(CONFIRM).headers["Location"] == BEGIN
    assert alices.get(PICTURE).status_code == 404


def test_until_the_app_has_proved_itself_nothing_is_on(alices: Client, alice: User, phone: Phone) -> None:
    phone.scan(_key_on(alices.post(BEGIN, PASSWORD, follow=True).content.decode()))
    wrong = phone.wrong_code()
    page = alices.post(CONFIRM, {"code": wrong}).content.decode()

    assert "This code is wrong" in page
    assert wrong not in page  # the next code is not appended to it
    assert _key_on(page).replace(" ", "") == phone.secret
    assert not SecondFactor.objects.exists()


def test_the_picture_is_an_svg_of_the_key_without_style_or_script(alices: Client) -> None:
    alices.post(BEGIN, PASSWORD)
    answer = alices.get(PICTURE)

    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Cache-Control"] == "no-store"
    elements = list(ElementTree.fromstring(answer.content).iter())
    assert {element.tag.rpartition("}")[2] for element in elements} == {"svg", "g", "path"}
    assert not any("style" in element.attrib or element.text for element in elements)


def test_the_link_for_apps_uses_only_widely_supported_parameters() -> None:
    assert enrolment_url(email="a+b:c@example.com", secret="ABC") == (
        "otpauth://totp/Berth:a%2Bb%3Ac@example.com?secret=ABC&issuer=Berth&algorithm=SHA1&digits=6&period=30"
    )


def test_a_setup_that_takes_too_long_restarts(alices: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    alices.post(BEGIN, PASSWORD)
    later = timezone.now() + timedelta(minutes=15, seconds=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)

    assert alices.get(CONFIRM).headers["Location"] == BEGIN
    assert alices.get(PICTURE).status_code == 404


def test_a_new_second_factor_ends_every_session_opened_without_it(
    call: Call, alices: Client, alice: User, phone: Phone
) -> None:
    other, token = Client(), issue_session(alice)
    other.force_login(alice)
    phone.scan(_key_on(alices.post(BEGIN, PASSWORD, follow=True).content.decode()))
    alices.post(CONFIRM, {"code": phone.code()})

    assert other.get("/settings").status_code == 302
    assert call("GET", "/api/auth/keys", by=token).status_code == 401


def test_each_user_has_one_second_factor(alices: Client, alice: User, phone: Phone) -> None:
    alices.post(BEGIN, PASSWORD)
    phone.enrol(alice)
    alices.force_login(alice)

    assert alices.get(BEGIN).headers["Location"] == "/settings"
    assert alices.post(CONFIRM, {"code": phone.code()}).status_code == 302
    assert alices.get(PICTURE).status_code == 404
    with pytest.raises(SecondFactorExistsError):
        enrol_second_factor(user=alice, session=None, secret=phone.secret, code=phone.code())


def test_no_part_of_a_second_factor_is_stored_in_plain_text(alices: Client, alice: User, phone: Phone) -> None:
    phone.scan(_key_on(alices.post(BEGIN, PASSWORD, follow=True).content.decode()))
    half_way = str(Session.objects.get().get_decoded())
    codes = _codes_on(alices.post(CONFIRM, {"code": phone.code()}).content.decode())

    stored = half_way + str([*SecondFactor.objects.values(), *RecoveryCode.objects.values()])
    stored += str(Session.objects.get().get_decoded())
    for secret in (phone.secret, *codes, *(code.replace("-", "") for code in codes)):
        assert secret not in stored


def test_a_recovery_code_has_120_random_bits() -> None:
    codes = {make_recovery_code() for _ in range(50)}

    assert len(codes) == 50
    assert all(re.fullmatch(r"[a-z2-7]{6}(-[a-z2-7]{6}){3}", code) for code in codes)


def test_new_recovery_codes_replace_the_old_ones(alices: Client, alice: User, phone: Phone, said: Said) -> None:
    phone.enrol(alice)
    alices.force_login(alice)
    shown = alices.post(CODES, {**PASSWORD, "code": phone.next_code()}).content.decode()

    assert len(set(_codes_on(shown)) - set(phone.recovery_codes)) == 10
    assert RecoveryCode.objects.count() == 10
    assert said()[-1] == f"recovery_codes_made user={alice.pk}"
    assert not set(_codes_on(alices.get(CODES).content.decode()))


@pytest.mark.parametrize("path", [CODES, OFF])
def test_without_a_second_factor_there_is_nothing_to_change(alices: Client, path: str) -> None:
    assert alices.get(path).headers["Location"] == "/settings"
    assert alices.post(path, {**PASSWORD, "code": "000000"}).headers["Location"] == "/settings"


@pytest.mark.parametrize("path", [BEGIN, CONFIRM, PICTURE, CODES, OFF])
def test_visitors_are_redirected_to_the_sign_in_page(client: Client, db: None, path: str) -> None:
    assert client.get(path).headers["Location"] == f"/sign-in?next={path}"
    assert client.post(path).headers["Location"] == f"/sign-in?next={path}%23unsent"


@pytest.mark.parametrize("path", [BEGIN, CONFIRM, CODES, OFF])
def test_a_form_without_its_csrf_token_is_refused(alice: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)

    assert client.post(path, PASSWORD).status_code == 403
