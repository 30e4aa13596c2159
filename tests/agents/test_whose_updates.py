"""Whose messages a program behind the relay sees."""

from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from telegram import Update

pytestmark = pytest.mark.one_database

ADA = {"id": 5, "is_bot": False, "username": "Ada_L"}


@pytest.mark.parametrize("kind", ["message", "edited_message", "callback_query", "message_reaction"])
@pytest.mark.parametrize(
    ("allowed", "is_admitted"),
    [({"5"}, True), ({"ada_l"}, True), ({"*"}, True), ({"6", "ada"}, False), (set(), False)],
)
def test_only_listed_users_are_answered(image: Path, kind: str, allowed: set[str], is_admitted: bool) -> None:
    from berth_agent.relay.updates import admit

    sender = "user" if kind == "message_reaction" else "from"
    update = {"update_id": 9, kind: {sender: ADA, "text": "Hello"}}
    assert admit([update], frozenset(allowed)) == [update if is_admitted else {"update_id": 9}]


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 9, "channel_post": {"from": ADA}},
        {"update_id": 9, "message": {"from": ADA, "sender_chat": {"id": -1}}},
        {"update_id": 9, "message": {"from": {**ADA, "is_bot": True}}},
        {"update_id": 9, "message": {"text": "from nobody"}},
        {"update_id": 9, "my_chat_member": {"from": ADA}},
        {"update_id": 9},
    ],
)
def test_bots_and_channels_are_not_answered_even_if_everybody_is_allowed(image: Path, update: dict[str, Any]) -> None:
    from berth_agent.relay.updates import admit, newest

    assert admit([update], frozenset({"*"})) == [{"update_id": 9}]
    assert newest([update, "nonsense"]) == 9


def test_an_update_that_a_library_cannot_parse_blocks_others_for_a_few_polls_only(image: Path) -> None:
    from berth_agent.relay.updates import ALONE, WHOLE, RepeatedUpdates, admit

    bot: Any = None
    person = {"id": 5, "is_bot": False, "first_name": "Ada"}
    said = {"message_id": 1, "date": 1, "chat": {"id": 5, "type": "private"}, "from": person, "text": "Ahoy"}
    odd = {"message_id": 1, "from": person}
    left = [{"update_id": n, "message": odd if n in {4, 6, 7} else said} for n in range(3, 10)]
    repeats, read, polls = RepeatedUpdates(), list[int](), 0
    while left:
        polls += 1
        given = admit(repeats.reduce(left), frozenset("*"))
        with suppress(KeyError):
            updates = Update.de_list(given, bot)
            read += [each.update_id for each in updates if each.message]
            left = left[len(updates) :]
    assert read == [3, 5, 8, 9]
    assert polls <= 6 * (WHOLE + ALONE + 1)


def test_a_child_that_repeats_the_same_poll_gets_fewer_updates(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from berth_agent.relay import telegram
    from berth_agent.relay.updates import ALONE, WHOLE

    sent = [{"update_id": n, "message": {"from": ADA}} for n in (8, 9)]
    monkeypatch.setattr(telegram, "ask", lambda *_, **__: nullcontext())
    monkeypatch.setattr(telegram.TelegramEndpoint, "_read_answer", lambda *_: (sent, 0))
    facts: Any = SimpleNamespace(allowed_users=frozenset("*"))
    exchange: Any = SimpleNamespace(read=lambda: b"", headers={})
    nobody: Any = None
    endpoint = telegram.TelegramEndpoint(facts, nobody, nobody)
    got = [endpoint._poll("", exchange) for _ in range(WHOLE + ALONE + 1)]
    assert got == [sent] * WHOLE + [sent[:1]] * ALONE + [[{"update_id": 8}]]
