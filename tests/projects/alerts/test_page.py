"""The page of alerts: choices, secrets that are shown once or never, and test messages."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.models import AlertChannel, AlertDelivery, DeliveryState, Project
from projects.rules.alerts import Way
from projects.services.bulkheads import COMMANDS
from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN as TOKEN
from tests.canaries import CANARY_TELEGRAM_TOKEN
from tests.clients import browser_of
from tests.fakes.telegram import FakeTelegram
from tests.projects.alerts.conftest import Receiver

KINDS = ["crash", "recovery"]
ANOTHER = "4242:AAanother-bot-of-the-user"


@pytest.fixture
def page(owner: User) -> Client:
    return browser_of(owner)


@pytest.fixture
def telegram(settings: Any) -> Iterator[FakeTelegram]:
    with FakeTelegram() as fake:
        settings.BERTH_TELEGRAM_API, settings.BERTH_VERIFY_CREDENTIALS = fake.url, True
        fake.add_bot(TOKEN, "harbour_bell_bot")
        yield fake


def test_a_webhook_is_set_tested_renewed_and_removed(page: Client, receiver: Receiver) -> None:
    answer = page.post(
        "/settings/alerts/webhook",
        {"do": "save", "webhook-url": f"{receiver.url}/of-canary", "webhook-kinds": KINDS},
    )
    shown = answer.content.decode()
    secret = shown.partition('id="new-secret" tabindex="0" autofocus>')[2].partition("<")[0]
    assert secret.startswith("whsec_")
    again = page.get("/settings/alerts").content.decode()
    assert secret not in again
    assert "of-canary" not in again
    assert receiver.url in again
    answer = page.post("/settings/alerts/webhook", {"do": "test"}, follow=True)
    assert "Delivered. Answered 204" in answer.content.decode()
    assert receiver.bodies[0]["type"] == "project.test"
    renewed = page.post("/settings/alerts/webhook", {"do": "renew"}).content.decode()
    assert "whsec_" in renewed
    assert secret not in renewed
    page.post("/settings/alerts/webhook", {"do": "remove"})
    assert not AlertChannel.objects.exists()


def test_a_private_address_is_refused_with_a_sentence(page: Client) -> None:
    answer = page.post(
        "/settings/alerts/webhook", {"do": "save", "webhook-url": "https://127.0.0.1/", "webhook-kinds": []}
    )
    assert answer.status_code == 400
    assert "private network" in answer.content.decode()
    assert not AlertChannel.objects.exists()


def test_a_bot_s_chat_comes_from_the_link_or_the_form(page: Client, telegram: FakeTelegram) -> None:
    page.post("/settings/alerts/telegram", {"do": "save", "telegram-token": TOKEN, "telegram-kinds": KINDS})
    channel = AlertChannel.objects.get(way=Way.TELEGRAM)
    assert f"https://t.me/harbour_bell_bot?start={channel.link_code}" in page.get("/settings/alerts").content.decode()
    telegram.say(TOKEN, 66, "/start somebody-elses-code")
    missing = page.post("/settings/alerts/telegram", {"do": "find"}, follow=True).content.decode()
    assert "has not received your message" in missing
    telegram.say(TOKEN, 77, f"/start {channel.link_code}")
    page.post("/settings/alerts/telegram", {"do": "find"})
    channel.refresh_from_db()
    assert channel.target == "77"
    page.post("/settings/alerts/telegram", {"do": "test"})
    assert AlertDelivery.objects.get().state == DeliveryState.DELIVERED
    page.post("/settings/alerts/telegram", {"do": "save", "telegram-chat": "-1001", "telegram-kinds": KINDS})
    channel.refresh_from_db()
    assert channel.target == "-1001"
    page.post("/settings/alerts/telegram", {"do": "test"})
    assert AlertDelivery.objects.filter(state=DeliveryState.REFUSED).count() == 1


@pytest.mark.parametrize("chat", ["abc", "1" * 19, "1.5", "--1", "\u0663", "@channel"])
def test_a_wrong_chat_leaves_the_bot_and_its_chat_as_they_were(page: Client, telegram: FakeTelegram, chat: str) -> None:
    """Before, the new bot was stored, without a chat: no alert arrived any more."""
    telegram.add_bot(ANOTHER)
    page.post("/settings/alerts/telegram", {"do": "save", "telegram-token": TOKEN, "telegram-kinds": KINDS})
    page.post("/settings/alerts/telegram", {"do": "save", "telegram-chat": "77", "telegram-kinds": KINDS})
    before = AlertChannel.objects.values().get()
    form = {"do": "save", "telegram-token": ANOTHER, "telegram-chat": chat, "telegram-kinds": ["crash"]}
    answer = page.post("/settings/alerts/telegram", form)
    assert answer.status_code == 400
    assert "digits only" in answer.content.decode()
    assert AlertChannel.objects.values().get() == before
    assert page.post("/settings/alerts/telegram", form | {"telegram-chat": "-5"}).status_code == 302
    assert AlertChannel.objects.get().target == "-5"


def test_the_bot_of_an_agent_and_a_wrong_one_are_refused(
    page: Client, project: Project, telegram: FakeTelegram
) -> None:
    telegram.add_bot(CANARY_TELEGRAM_TOKEN)
    for token, words in (
        (CANARY_TELEGRAM_TOKEN, "an agent"),
        ("1:nobodys", "refused"),
        ("nonsense", "not a bot token"),
    ):
        form = {"do": "save", "telegram-token": token, "telegram-kinds": KINDS}
        answer = page.post("/settings/alerts/telegram", form)
        assert answer.status_code == 400
        assert words in answer.content.decode()
    assert not AlertChannel.objects.exclude(secret_ciphertext="").exists()


def test_the_chat_is_found_behind_many_messages(page: Client, project: Project, telegram: FakeTelegram) -> None:
    """Nothing is read from an agent's bot, because its messages would be lost."""
    page.post("/settings/alerts/telegram", {"do": "save", "telegram-token": TOKEN, "telegram-kinds": KINDS})
    channels = AlertChannel.objects.filter(way=Way.TELEGRAM)
    for text, number in (("short", 120), ("long " * 800, 30)):
        for _ in range(number):
            telegram.say(TOKEN, 66, text)
        telegram.say(TOKEN, 77, f"/start {channels.get().link_code}")
        page.post("/settings/alerts/telegram", {"do": "find"})
        assert channels.get().target == "77"
        channels.update(target="")
    Project.objects.filter(pk=project.pk).update(bot_id=int(TOKEN.partition(":")[0]))
    polls = telegram.polls(TOKEN).count
    refused = page.post("/settings/alerts/telegram", {"do": "find"}, follow=True).content.decode()
    assert "an agent" in refused
    assert telegram.polls(TOKEN).count == polls


def test_nothing_waits_for_the_outside_without_a_place(
    page: Client, owner: User, receiver: Receiver, telegram: FakeTelegram
) -> None:
    ways = {"webhook": {"webhook-url": receiver.url}, "telegram": {"telegram-token": TOKEN}}
    for way, fields in ways.items():
        page.post(f"/settings/alerts/{way}", {"do": "save", **fields})
    calls = len(telegram.calls(TOKEN))
    with ExitStack() as places:
        for _ in range(COMMANDS._each):
            places.enter_context(COMMANDS.take(owner.email))
        for way, fields in ways.items():
            answer = page.post(f"/settings/alerts/{way}", {"do": "save", **fields})
            assert (answer.status_code, "Too many commands" in answer.content.decode()) == (429, True)
        for way, what in (("webhook", "test"), ("telegram", "find")):
            told = page.post(f"/settings/alerts/{way}", {"do": what}, follow=True).content.decode()
            assert "Too many commands" in told
    assert (receiver.taken, len(telegram.calls(TOKEN))) == ([], calls)


def test_a_hostile_address_is_refused_and_leaves_nothing(page: Client, receiver: Receiver) -> None:
    for ending in ("\\[x", "\\token", "[x", "\x01x", " x", "\tx", ":x", "@x[", "%5C[x"):
        answer = page.post("/settings/alerts/webhook", {"do": "save", "webhook-url": receiver.url + ending})
        assert answer.status_code == 400, ending
    assert not AlertChannel.objects.exists()


def test_the_settings_link_to_the_page_and_each_user_sees_only_own_channels(
    page: Client, bob: User, receiver: Receiver
) -> None:
    assert "/settings/alerts" in page.get("/settings").content.decode()
    page.post("/settings/alerts/webhook", {"do": "save", "webhook-url": receiver.url, "webhook-kinds": KINDS})
    stranger = browser_of(bob)
    stranger.post("/settings/alerts/webhook", {"do": "test"})
    stranger.post("/settings/alerts/webhook", {"do": "remove"})
    assert receiver.taken == []
    assert AlertChannel.objects.count() == 1
    assert page.get("/settings/alerts/pigeon").status_code == 404
    assert browser_of(None).get("/settings/alerts").status_code == 302
