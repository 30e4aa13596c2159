"""A message as the agent sees it: its place, author and language, and whether it is addressed to the agent."""

from dataclasses import dataclass
from functools import cached_property

from telegram import Message, User

from assistant.storage.memory import Place
from assistant.telegram.attachments import Attachment, Kind, attachments_of
from assistant.telegram.rich_messages import read_rich_text

MENTIONS: list[str | None] = ["mention", "text_mention"]
LONGEST_NAME = 64
LONGEST_QUOTE = 1000  # characters of the message that a question replies to


@dataclass(frozen=True)
class Incoming:
    message: Message
    user: User
    me: User
    is_edited: bool = False
    others: tuple[Message, ...] = ()
    """The other messages of the same album. `message` is the one with the text."""

    @property
    def replayable(self) -> Message | None:
        """The message, if it can be handled again on its own; None for an edit and for an album."""
        return None if self.is_edited or self.others else self.message

    @property
    def is_private(self) -> bool:
        return self.message.chat.type == "private"

    @property
    def language(self) -> str | None:
        return self.user.language_code

    @cached_property
    def place(self) -> Place:
        """The chat and topic. A thread of replies has a thread id too, but is no topic."""
        topic = self.message.message_thread_id if self.message.is_topic_message else None
        return Place(self.message.chat_id, topic or 0)

    @property
    def reply_to(self) -> int | None:
        """The id of the message that the answer replies to. None in a private chat, where it is obvious unless the
        message was edited.
        """
        return None if self.is_private and not self.is_edited else self.message.message_id

    @cached_property
    def text(self) -> str:
        return self.message.text or self.message.caption or read_rich_text(self.message)

    @cached_property
    def command(self) -> str:
        """The command without its slash, in lower case; empty if the message is no command or one for another bot."""
        if not self.message.text or not self.text.startswith("/"):
            return ""
        name, _, bot = self.text.split(maxsplit=1)[0][1:].lower().partition("@")
        return name if bot in ("", self._username) else ""

    @property
    def argument(self) -> str:
        """The text after the command."""
        return self.text.partition(" ")[2].strip()

    @property
    def names_me(self) -> bool:
        """Whether it is a command with the name of this bot, such as /help@this_bot."""
        return bool(self.command) and "@" in self.text.split(maxsplit=1)[0]

    @cached_property
    def is_for_me(self) -> bool:
        """Whether the agent is addressed: always in a private chat, and in a group by a mention or a reply to it."""
        if self.is_private:
            return True
        return self._replies_to_me or self._mentions_me

    @property
    def question(self) -> str:
        """The question for the model, with the quoted message and, in a group, the author. Empty without text."""
        return self.with_context(self.own_text) if self.own_text else ""

    @property
    def own_text(self) -> str:
        return self._without_mention.strip()

    def with_context(self, text: str) -> str:
        quoted = self._quoted
        question = f"{quoted}\n\n{text}" if quoted else text
        return question if self.is_private else f"{self._name}: {question}"

    @property
    def is_readable(self) -> bool:
        return bool(self.own_text) or any(each.kind is not Kind.OTHER for each in self.attachments)

    def matches_remembered(self, remembered: str) -> bool:
        """Returns whether this message asked the remembered question. Notes about its files follow the text there, or
        are all of it if the message has no text.
        """
        if not self.attachments:
            return remembered == self.question
        return not self.own_text or remembered == self.question or remembered.startswith(f"{self.question}\n\n")

    @cached_property
    def attachments(self) -> list[Attachment]:
        """All files of the message and its album, and of the message it replies to unless the agent sent that one."""
        messages = sorted((self.message, *self.others), key=lambda each: each.message_id)
        replied = self.message.reply_to_message
        if replied is not None and (replied.from_user is None or replied.from_user.id != self.me.id):
            messages.insert(0, replied)
        return [found for message in messages for found in attachments_of(message)]

    @property
    def _username(self) -> str:
        return (self.me.username or "").lower()

    @property
    def _replies_to_me(self) -> bool:
        """Whether it replies to the agent. In a topic, Telegram marks every message as a reply to the topic's first
        notice, which does not count.
        """
        replied = self.message.reply_to_message
        if replied is None or replied.forum_topic_created is not None or replied.from_user is None:
            return False
        return replied.from_user.id == self.me.id

    @property
    def _mentions_me(self) -> bool:
        parse = self.message.parse_entities if self.message.text else self.message.parse_caption_entities
        for entity, text in parse(MENTIONS).items():
            if text.lower() == f"@{self._username}" or (entity.user is not None and entity.user.id == self.me.id):
                return True
        return False

    @property
    def _without_mention(self) -> str:
        mention = f"@{self._username}"
        return self.text[len(mention) :] if self.text.lower().startswith(mention) else self.text

    @property
    def _quoted(self) -> str:
        """The message that this one replies to, or the quoted part of it, with the author's name if it is neither the
        agent nor the same person.
        """
        replied, quote = self.message.reply_to_message, self.message.quote
        if replied is not None and replied.forum_topic_created is not None:
            replied = None
        quoted = quote.text if quote is not None else (replied.text or replied.caption or "") if replied else ""
        lines = quoted[:LONGEST_QUOTE].splitlines()
        speaker = replied.from_user if replied else None
        if lines and speaker is not None and speaker.id not in (self.me.id, self.user.id):
            lines.insert(0, f"{_name_of(speaker)}:")
        return "\n".join(f"> {line}" for line in lines)

    @property
    def _name(self) -> str:
        return _name_of(self.user)


def _name_of(user: User) -> str:
    return " ".join(user.full_name.split())[:LONGEST_NAME] or str(user.id)
