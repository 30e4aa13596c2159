"""An agent that ends for good while the mail server is broken: the list says so at once, and a mail later."""

import time
from functools import partial

from tests.chaos.database.requests import Client
from tests.chaos.matrix.installation import Installation
from tests.chaos.matrix.verbs import RETRIES_WITHIN, insist
from tests.waiting import wait_until

NAME = "Letter"
TOLD_WITHIN = 120.0
MAILED_WITHIN = 400.0
"""Seconds. A mail that has waited long is tried again only every few minutes."""


class Letter:
    def __init__(self, installation: Installation, client: Client) -> None:
        self._installation, self._client = installation, client
        create = partial(client.send, "POST", "/api/projects", installation.new_body(NAME))
        answer = insist(create, time.monotonic() + RETRIES_WITHIN)
        assert answer.status == 201, answer
        self._path = f"/api/projects/{answer.json['id']}"
        self._container = installation.instance.name_of(answer.json["id"])
        self._before = len(self._received())

    def crash(self) -> None:
        """Its token is refused, now and after every start. Returns when its owner can read that."""
        self._installation.instance.tell_stub(self._container, "exit20", for_ever=True)
        wait_until(self._is_crashed, within=TOLD_WITHIN, every=0.2, what="It is not told to have crashed")

    def wait_for_mail(self) -> None:
        wait_until(
            lambda: len(self._received()) > self._before, within=MAILED_WITHIN, every=0.2, what="There is no mail"
        )

    def close(self) -> None:
        """A project that cannot be started would be a fault to those who start all that is there."""
        gone = insist(partial(self._client.send, "DELETE", self._path), time.monotonic() + RETRIES_WITHIN)
        assert gone.status in {202, 204}, gone

    def _is_crashed(self) -> bool:
        answer = self._client.send("GET", self._path)
        return answer.status == 200 and answer.json["status"] == "crashed"

    def _received(self) -> set[str]:
        """The ids of the mails about it. One whose confirmation was lost may have come twice."""
        return {str(each["Message-ID"]) for each in self._installation.mail.taken if NAME in str(each["Subject"])}
