"""Whether a message is sent again after a failure: where it cannot have arrived."""

import asyncio
from typing import Any

import httpx
import pytest
from telegram.error import TimedOut

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("cause", "calls"), [(httpx.ConnectTimeout, 2), (httpx.PoolTimeout, 2), (httpx.ReadTimeout, 1), (None, 1)]
)
def test_a_message_is_sent_again_where_the_request_was_not_sent(
    monkeypatch: pytest.MonkeyPatch, cause: Any, calls: int
) -> None:
    from assistant import sending
    from assistant.formatted import Formatted
    from assistant.memory import Place

    sent: list[str] = []
    pause_after = sending._pause_after

    async def send(_: Any, __: Any, part: Any, ___: Any) -> int:
        sent.append(part.text)
        if len(sent) > 1:
            return 7
        raise TimedOut from (cause("slow") if cause else None)

    monkeypatch.setattr(sending, "send_once", send)
    monkeypatch.setattr(sending, "_pause_after", lambda *a, **kw: pause_after(*a, **kw) and 0.001)
    bot: Any = None
    with_answer = sending.send_parts(bot, Place(1), [Formatted("The answer")])
    assert asyncio.run(with_answer) is (calls == 2)
    assert len(sent) == calls
