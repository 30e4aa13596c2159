"""What the pages look like: no side-scrolling on a telephone, and pictures of each for people who want to look.

The pictures go to BERTH_TEST_PICTURES, where that is set.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import Notice, OpenSession, User
from projects.models import AlertChannel, AlertDelivery, DeliveryState
from projects.rules.alerts import Way
from tests.factories import ApiKeyFactory

FAULTS = (Path(__file__).parent / "faults.js").read_text()
BELOW_SETTINGS = {
    "alerts": "/settings/alerts",
    "email": "/settings/email",
    "email-not-valid": "/settings/email/confirm?link=x",
    "delete-account": "/settings/delete",
    "settings-again": "/settings",
}


def tell_by_webhook_and_bot(user: User) -> None:
    """A webhook with messages of every state, and a bot whose chat is not known yet."""
    target = f"https://{'hooks.' * 20}example/…"
    sealed = {"secret_ciphertext": "x", "secret_hint": "abcd", "link_code": "0123456789abcdef"}
    webhook = AlertChannel.objects.create(user=user, way=Way.WEBHOOK, target=target, **sealed)
    AlertChannel.objects.create(user=user, way=Way.TELEGRAM, bot_username="harbour_bell_bot", **sealed)
    for state in DeliveryState:
        facts = {"project": "x" * 64, "sentence": "Crashed: Telegram refused the bot token", "code": "crash"}
        AlertDelivery.objects.create(
            channel=webhook, kind="crash", state=state, facts=facts, attempts=2, last_answer="Answered 500"
        )
    Notice.objects.create(pk=1, text="On Sunday we move the disks: https://status.example/disks", is_maintenance=False)


def note_session(user: User, **values: Any) -> None:
    ends_at = timezone.now() + timedelta(hours=1)
    OpenSession.objects.create(user=user, kind="api", ends_at=ends_at, session_version=user.session_version, **values)


def test_every_page_fits_its_screen(
    page: Page, alice: User, sign_in: Callable[[User], None], look: Callable[[str], None], settings: Any
) -> None:
    settings.BERTH_SENDS_MAIL = True
    tell_by_webhook_and_bot(alice)
    for token, program, address in (("a", "Firefox, Linux", "203.0.113.9"), ("b", "", None), ("c", "x" * 40, "::1")):
        note_session(alice, token=token, program=program, address=address)
    ago = timezone.now() - timedelta(hours=3)
    ApiKeyFactory.create(
        user=alice, name="deploy script", last_used_at=ago, last_used_ip="2001:db8:85a3::8a2e:370:7334"
    )
    ApiKeyFactory.create(user=alice, name="x" * 64, scope="read", expires_at=None)
    rotated = ApiKeyFactory.create(user=alice, name="y" * 64)
    old = ApiKeyFactory.create(user=alice, name="last year's", expired=True)

    page.goto("/sign-in")
    look("sign-in")
    page.get_by_label("Email").fill("nobody@example.com")
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    look("sign-in-refused")
    sign_in(alice)
    look("settings")
    page.locator("#id_name").fill("new one")
    page.get_by_role("button", name="Make key").click()
    page.get_by_role("button", name="Copy").click()
    look("new-key")
    page.goto(f"/settings/keys/{old.pk}/revoke")
    look("revoke")
    page.goto(f"/settings/keys/{rotated.pk}/rotate")
    look("rotate")
    for name, path in BELOW_SETTINGS.items():
        page.goto(path)
        look(name)
        assert page.evaluate(FAULTS) == [], path
    page.goto("/nowhere")
    look("not-found")
