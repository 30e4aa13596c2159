"""How an answer grows in its chat: as often as Telegram allows, as a draft or as a message, and never twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from telegram import Bot
from telegram.request import HTTPXRequest

from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_errors import ApiError

GROUP = -100
Act = Callable[[Any], Awaitable[None]]
TEXTS = ["One", "One **two", "One **two** three"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    from assistant.telegram.previews import Draft, EditedMessage

    monkeypatch.setattr(Draft, "pause", 0.01)
    monkeypatch.setattr(EditedMessage, "pause", 0.01)


def answer(telegram: FakeTelegram, token: str, chat: int, act: Act, drafts: Any = None) -> None:
    """Sends a message to the chat and lets `act` grow the reply to it."""
    from assistant.storage.memory import Place
    from assistant.telegram.reply import DraftSupport, Reply

    async def live() -> None:
        bot = Bot(
            token, f"{telegram.url}/bot", request=HTTPXRequest(httpx_kwargs={"trust_env": False}, read_timeout=60)
        )
        async with bot:
            is_private, known = chat > 0, drafts or DraftSupport()
            reply = Reply(bot, Place(chat), reply_to=None if is_private else 1, is_private=is_private, drafts=known)
            await act(reply)

    telegram.say(token, chat, "Hello?", user_id=7)
    asyncio.run(live())


def grow_until(seen: Callable[[], bool]) -> Act:
    """Returns a function that grows the reply text by text, waits until `seen` is true, and finishes it."""

    async def act(reply: Any) -> None:
        async with reply:
            for text in TEXTS:
                reply.grow(text)
                await asyncio.sleep(0.05)
            async with asyncio.timeout(60):
                while not seen():
                    await asyncio.sleep(0.01)
        await reply.finish(TEXTS[-1] + "!")

    return act


def test_in_a_group_one_message_grows_and_answers_the_question(telegram: FakeTelegram, token: str) -> None:
    def seen() -> bool:
        return any(sent.text == "One two three" for sent in telegram.sent(token))

    answer(telegram, token, GROUP, grow_until(seen))
    sent = telegram.sent(token)
    assert len({each.message_id for each in sent}) == 1
    assert sent[-1].text == "One two three!"
    assert "reply_parameters" in sent[0].fields
    assert not telegram.calls(token, "sendMessageDraft")


@pytest.mark.parametrize(
    ("refusal", "again"), [(ApiError(404, "Not Found"), 1), (ApiError(400, "Bad Request: TEXTDRAFT_PEER_INVALID"), 2)]
)
def test_a_message_grows_if_drafts_are_refused(
    telegram: FakeTelegram, token: str, refusal: ApiError, again: int
) -> None:
    from assistant.telegram.reply import DraftSupport

    def seen() -> bool:
        return any(sent.text == "One two three" for sent in telegram.sent(token))

    drafts = DraftSupport()
    telegram._fault(token, refusal.answer, "sendMessageDraft", None)
    answer(telegram, token, 5, grow_until(seen), drafts)
    assert [sent.text for sent in telegram.sent(token)][-1] == "One two three!"
    assert len({sent.message_id for sent in telegram.sent(token)}) == 1
    assert drafts.is_supported is (again == 2)


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
def test_a_requested_pause_delays_previews_but_not_the_answer(telegram: FakeTelegram, token: str) -> None:
    def seen() -> bool:
        return len(telegram.calls(token, "sendMessageDraft")) > 1

    telegram.rate_limit(token, 1, "sendMessageDraft", times=1)
    answer(telegram, token, 5, grow_until(seen))
    first, second, *_ = telegram.calls(token, "sendMessageDraft")
    assert second.at - first.at >= 0.9
    telegram.rate_limit(token, 600, "sendMessageDraft")
    answer(telegram, token, 5, grow_until(lambda: True))
    assert telegram.sent(token)[-1].text == "One two three!"


def test_a_message_that_was_deleted_meanwhile_is_sent_again(telegram: FakeTelegram, token: str) -> None:
    async def act(reply: Any) -> None:
        async with reply:
            reply.grow("One")
            await asyncio.to_thread(telegram.wait_for_message, token, timeout=60)
            telegram._bots[token].sent.clear()
        await reply.finish("One two")

    answer(telegram, token, GROUP, act)
    assert [sent.text for sent in telegram.sent(token)] == ["One two"]


def test_a_message_refused_for_its_formatting_is_sent_without_it(telegram: FakeTelegram, token: str) -> None:
    async def act(reply: Any) -> None:
        await reply.finish("A **ship**")

    telegram._fault(token, ApiError(400, "Bad Request: ENTITY_BOUNDS_INVALID").answer, "sendMessage", 1)
    answer(telegram, token, 5, act)
    [sent] = telegram.sent(token)
    assert (sent.text, sent.fields.get("entities")) == ("A ship", "[]")


def test_a_preview_can_be_withdrawn(telegram: FakeTelegram, token: str) -> None:
    async def act(reply: Any) -> None:
        async with reply:
            reply.grow("One")
            await asyncio.to_thread(telegram.wait_for_message, token, timeout=60)
        await reply.withdraw()

    answer(telegram, token, GROUP, act)
    assert telegram.sent(token) == []


def test_a_draft_is_renewed_before_it_expires(
    telegram: FakeTelegram, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assistant.telegram.previews import Draft

    monkeypatch.setattr(Draft, "renewed", 0.02)

    def drafts() -> list[str]:
        return [call.fields.get("text", "") for call in telegram.calls(token, "sendMessageDraft")]

    async def act(reply: Any) -> None:
        async with reply, asyncio.timeout(60):
            while len(drafts()) < 2:  # before the model has answered
                await asyncio.sleep(0.01)
            reply.grow("One")
            while drafts().count("One") < 2:
                await asyncio.sleep(0.01)
        await reply.finish("One.")

    answer(telegram, token, 5, act)
    assert set(drafts()) == {"", "One"}
    assert telegram.draft(token, 5) is None
