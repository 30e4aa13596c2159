"""Decides who is answered: paired people, people listed in the settings, or everybody if the settings say so."""

import logging

from telegram import User

from agent_contract import PairingCode, read_pairing_code
from assistant.config import Config
from assistant.storage.people import Pairing, People
from assistant.texts import Text
from berth_agent.status import Status

EVERYBODY = "*"
SENTENCES = {
    Pairing.FIRST: Text.PAIRED_FIRST,
    Pairing.DONE: Text.PAIRED,
    Pairing.ALREADY: Text.ALREADY_PAIRED,
    Pairing.DEAD: Text.DEAD_CODE,
}

logger = logging.getLogger(__name__)


class Access:
    """Decides who is answered, without calling the provider. Returned texts are to be sent to the chat; None means
    nothing.
    """

    def __init__(self, config: Config, people: People, status: Status) -> None:
        self._listed = config.allowed_users
        self._secret = config.pairing_secret
        self._people = people
        self._status = status
        if self._secret:
            people.note_secret()
        # With a list and no secret, only the list counts. With neither, an agent that was ever paired admits only those
        # people, because the secret may have been lost.
        self._knows_people = bool(self._secret) or (not self._listed and people.has_ever_paired())
        self._report()

    def admits(self, user: User) -> bool:
        if EVERYBODY in self._listed or not (self._listed or self._knows_people):
            return True
        if str(user.id) in self._listed or (user.username and user.username.lower() in self._listed):
            return True
        return self._knows_people and self._people.knows(user.id)

    def read_code(self, text: str) -> PairingCode | None:
        return read_pairing_code(text, self._secret) if self._secret else None

    def redeem_code(self, code: PairingCode, user: User, *, is_private: bool) -> Text | None:
        """Pairs the user. A code sent to a group is no longer secret, so it becomes void and none of its readers can
        use it.
        """
        if user.is_bot:
            return None
        if not is_private:
            self._people.void(code)
            shown = f"group {code.kind}{code.number}"
            return Text.CODE_IN_GROUP if self._people.note_refusal(shown) else None
        came = self._people.pair(code, user.id)
        if came in (Pairing.FIRST, Pairing.DONE):
            logger.info("a person has paired; there are %d now", self._people.count())
            self._report()
        elif came is Pairing.DEAD and not self._people.note_refusal(f"{user.id} {code.kind}{code.number}"):
            return None
        return SENTENCES[came]

    def refuse(self, user: User) -> Text | None:
        """Returns the sentence that a person who is not answered gets at most once a day."""
        if user.is_bot or not self._people.note_refusal(str(user.id)):
            return None
        return Text.STRANGER_UNPAIRED if self._knows_people and not self._listed else Text.STRANGER

    def _report(self) -> None:
        if self._secret:
            self._status.note_paired(self._people.count())
