"""Every kind of update is answered once or skipped on purpose, and none ends or blocks the agent."""

from typing import Any

from tests.agents import kinds_of_updates as kinds
from tests.agents.agent import PATIENCE, Agent
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until


def words(text: str) -> set[str]:
    return set(text.split())


CONTENTS = words(
    "animation audio checklist contact dice document game invoice live_photo location paid_media passport_data "
    "photo poll rich_message sticker story successful_payment venue video video_note voice"
)
"""Kinds of content that a person sends, with or without text."""

MARKS = words(
    "author_signature business_connection_id direct_messages_topic edit_date effect_id ephemeral_message_id "
    "external_reply forward_origin guest_bot_caller_chat guest_bot_caller_user guest_query_id has_media_spoiler "
    "has_protected_content is_automatic_forward is_from_offline is_paid_post is_topic_message "
    "link_preview_options media_group_id message_thread_id of_next_year paid_star_count quote receiver_user "
    "reply_markup reply_to_checklist_task_id reply_to_message reply_to_poll_option_id reply_to_story "
    "sender_boost_count sender_business_bot sender_chat sender_tag show_caption_above_media suggested_post_info "
    "via_bot"
)
"""Properties that a message has in addition to its content. Alone they make no message."""

NOTICES = words(
    "boost_added channel_chat_created chat_background_set chat_owner_changed chat_owner_left chat_shared "
    "checklist_tasks_added checklist_tasks_done community_chat_added connected_website delete_chat_photo "
    "direct_message_price_changed forum_topic_closed forum_topic_created forum_topic_edited forum_topic_reopened "
    "general_forum_topic_hidden general_forum_topic_unhidden gift gift_upgrade_sent giveaway giveaway_completed "
    "giveaway_created giveaway_winners group_chat_created left_chat_member managed_bot_created "
    "message_auto_delete_timer_changed migrate_from_chat_id migrate_to_chat_id new_chat_members new_chat_photo "
    "new_chat_title paid_message_price_changed pinned_message poll_option_added poll_option_deleted "
    "proximity_alert_triggered refunded_payment suggested_post_approval_failed suggested_post_approved "
    "suggested_post_declined suggested_post_paid suggested_post_refunded supergroup_chat_created unique_gift "
    "users_shared video_chat_ended video_chat_participants_invited video_chat_scheduled video_chat_started "
    "web_app_data write_access_allowed"
)
"""Service messages, with which Telegram reports events in a chat."""


def test_every_kind_of_update_is_classified() -> None:
    assert set(kinds.contents()) == CONTENTS | MARKS | NOTICES
    assert len(CONTENTS) + len(MARKS) + len(NOTICES) == len(kinds.contents())


def test_each_kind_of_update_is_answered_once_or_skipped(agent: Agent, telegram: FakeTelegram, token: str) -> None:
    agent.start(AGENT_ALLOWED_USERS="*").wait_for("running")
    bot, answered = telegram.add_bot(token), dict[int, str]()
    for kind in kinds.UNREADABLE:
        push(telegram, token, kind)
    for chat, (name, content) in enumerate(kinds.contents().items(), 1000):
        answered |= {chat: name} if name in CONTENTS | MARKS else {}
        telegram.say(token, chat, "Ahoy" if name in MARKS else "", **{name: content})
        telegram.say(token, -chat, "", user_id=chat, **{name: content})
    for chat, (name, about) in enumerate(kinds.updates().items(), 2000):
        person = {"id": chat, "is_bot": False, "first_name": "Ada"}
        bot.chats[chat] = {"id": chat, "type": "private", "first_name": "Ada"}
        is_message = isinstance(about, dict) and "message_id" in about
        said = kinds.SAID | {"chat": bot.chats[chat], "from": person, "text": "Ahoy"}
        answered |= {chat: name} if name == "message" else {}
        push(telegram, token, {name: said if is_message else about})
    answered |= {3000: "words beside what cannot be read"}
    telegram.say(token, 3000, "Ahoy", reply_to_message=kinds.SAID | {"poll": kinds.OLD_POLL})
    wait_until(
        lambda: answered.keys() <= {sent.chat_id for sent in telegram.sent(token)},
        within=PATIENCE,
        what=lambda: f"no answer: {[answered[c] for c in answered.keys() - {s.chat_id for s in telegram.sent(token)}]}",
    )
    assert agent.stop() == 0
    assert telegram.pending(token) == 0
    said_in = [sent.chat_id for sent in telegram.sent(token)]
    assert sorted(said_in) == sorted(answered), "once each, and nobody else"
    assert "Traceback" not in agent.output


def push(telegram: FakeTelegram, token: str, about: dict[str, Any]) -> None:
    """Includes kinds that the agent does not ask for, because Telegram also sends updates from before it asked."""
    with telegram.changed:
        bot = telegram.add_bot(token)
        bot.updates.append({"update_id": bot.next_update, **about})
        bot.next_update += 1
        telegram.changed.notify_all()
