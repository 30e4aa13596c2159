"""A message that grows in a group while its first version is slow to arrive, or may never have arrived."""

import asyncio
from typing import Any

import pytest
from telegram.error import TimedOut

from tests.agents.test_reply import GROUP, TEXTS, answer
from tests.fakes.telegram import FakeTelegram


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    from assistant.telegram.previews import EditedMessage

    monkeypatch.setattr(EditedMessage, "pause", 0.01)


@pytest.mark.parametrize("is_in_hurry", [False, True])
def test_a_first_message_that_is_slow_becomes_the_answer(
    telegram: FakeTelegram, token: str, monkeypatch: pytest.MonkeyPatch, is_in_hurry: bool
) -> None:
    from assistant.telegram import previews, reply
    from assistant.telegram.sending import send_once

    on_its_way = asyncio.Event()

    async def send_slowly(*given: Any) -> int:
        on_its_way.set()
        await asyncio.sleep(0.3)
        return await send_once(*given)

    monkeypatch.setattr(previews, "send_once", send_slowly)
    monkeypatch.setattr(reply, "SETTLE_SECONDS", 0.01)
    drafts = reply.DraftSupport()
    drafts.is_in_hurry = is_in_hurry

    async def act(growing: Any) -> None:
        async with growing:
            growing.grow("One")
            await on_its_way.wait()
        assert (growing._preview.message is None) is is_in_hurry
        await growing.finish("One two")

    answer(telegram, token, GROUP, act, drafts)
    assert telegram.sent(token)[-1].text == "One two"
    assert len({each.message_id for each in telegram.sent(token)}) == 1


def test_no_second_message_grows_if_the_first_may_have_arrived(
    telegram: FakeTelegram, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assistant.telegram import previews

    tries = []

    async def time_out(*given: Any) -> int:
        tries.append(given)
        raise TimedOut

    monkeypatch.setattr(previews, "send_once", time_out)

    async def act(growing: Any) -> None:
        async with growing:
            for text in TEXTS * 3:
                growing.grow(text)
                await asyncio.sleep(0.05)
        await growing.finish("One two")

    answer(telegram, token, GROUP, act)
    assert len(tries) == 1
    assert [each.text for each in telegram.sent(token)] == ["One two"]
