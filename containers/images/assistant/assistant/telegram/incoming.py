"""What a message is to the agent: where and by whom it was said, in which language, and whether to the agent."""

from dataclasses import dataclass
from functools import cached_property

from telegram import Message, User

from assistant.remembering.memory import Place
from assistant.telegram.attachments import Attachment, Kind, attachments_of
from assistant.telegram.structured import read_words

MENTIONS: list[str | None] = ["mention", "text_mention"]
LONGEST_NAME = 64
LONGEST_QUOTE = 1000  # characters of what a question replies to


@dataclass(frozen=True)
class Incoming:
    message: Message
    user: User
    me: User
    is_edited: bool = False
    others: tuple[Message, ...] = ()
    """Of the same album, in front of or behind the message, which holds the text."""

    @property
    def whole(self) -> Message | None:
        """The message where it says all, so that it may be taken again."""
        return None if self.is_edited or self.others else self.message

    @property
    def is_private(self) -> bool:
        return self.message.chat.type == "private"

    @property
    def language(self) -> str | None:
        return self.user.language_code

    @cached_property
    def place(self) -> Place:
        """A message in a thread of replies has a thread's number as well, and is no topic."""
        topic = self.message.message_thread_id if self.message.is_topic_message else None
        return Place(self.message.chat_id, topic or 0)

    @property
    def reply_to(self) -> int | None:
        """The message that an answer refers to: nobody else talks in between in a private chat."""
        return None if self.is_private and not self.is_edited else self.message.message_id

    @cached_property
    def text(self) -> str:
        return self.message.text or self.message.caption or read_words(self.message)

    @cached_property
    def command(self) -> str:
        """The command without its slash, in lower case; empty where it is none, or one for another bot."""
        if not self.message.text or not self.text.startswith("/"):
            return ""
        name, _, bot = self.text.split(maxsplit=1)[0][1:].lower().partition("@")
        return name if bot in ("", self._username) else ""

    @property
    def argument(self) -> str:
        """What stands behind a command."""
        return self.text.partition(" ")[2].strip()

    @property
    def names_me(self) -> bool:
        """Whether it is a command that says which bot it is for, and means this one."""
        return bool(self.command) and "@" in self.text.split(maxsplit=1)[0]

    @cached_property
    def is_for_me(self) -> bool:
        """In a group: a mention, or a reply to what the agent has said."""
        if self.is_private:
            return True
        return self._replies_to_me or self._mentions_me

    @property
    def question(self) -> str:
        """For the model: with what it replies to, and in a group with the name of who asks."""
        return self.phrase(self.said) if self.said else ""

    @property
    def said(self) -> str:
        return self._without_mention.strip()

    def phrase(self, text: str) -> str:
        quoted = self._quoted
        asked = f"{quoted}\n\n{text}" if quoted else text
        return asked if self.is_private else f"{self._name}: {asked}"

    @property
    def is_readable(self) -> bool:
        return bool(self.said) or any(each.kind is not Kind.OTHER for each in self.attachments)

    def says_what_is_remembered(self, remembered: str) -> bool:
        """Below a text its files are remembered, by name or by what they say; what has none begins with them."""
        if not self.attachments:
            return remembered == self.question
        return not self.said or remembered == self.question or remembered.startswith(f"{self.question}\n\n")

    @cached_property
    def attachments(self) -> list[Attachment]:
        """With those of what it replies to, unless they are the agent's own."""
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
        """Each message in a topic is a reply to the notice of its beginning, which says nothing."""
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
        """What the message replies to, or the part of it that it quotes, with the name of whoever else said so."""
        replied, quote = self.message.reply_to_message, self.message.quote
        if replied is not None and replied.forum_topic_created is not None:
            replied = None
        said = quote.text if quote is not None else (replied.text or replied.caption or "") if replied else ""
        lines = said[:LONGEST_QUOTE].splitlines()
        speaker = replied.from_user if replied else None
        if lines and speaker is not None and speaker.id not in (self.me.id, self.user.id):
            lines.insert(0, f"{_name_of(speaker)}:")
        return "\n".join(f"> {line}" for line in lines)

    @property
    def _name(self) -> str:
        return _name_of(self.user)


def _name_of(user: User) -> str:
    return " ".join(user.full_name.split())[:LONGEST_NAME] or str(user.id)
