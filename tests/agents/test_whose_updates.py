"""Whose messages a program behind the relay sees."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.one_database

ADA = {"id": 5, "is_bot": False, "username": "Ada_L"}


@pytest.mark.parametrize("kind", ["message", "edited_message", "callback_query", "message_reaction"])
@pytest.mark.parametrize(
    ("allowed", "is_admitted"),
    [({"5"}, True), ({"ada_l"}, True), ({"*"}, True), ({"6", "ada"}, False), (set(), False)],
)
def test_those_who_are_listed(image: Path, kind: str, allowed: set[str], is_admitted: bool) -> None:
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
def test_nobody_who_does_not_speak_in_person_even_where_everybody_is_allowed(
    image: Path, update: dict[str, Any]
) -> None:
    from berth_agent.relay.updates import admit, newest

    assert admit([update], frozenset({"*"})) == [{"update_id": 9}]
    assert newest([update, "nonsense"]) == 9
