"""An agent ends permanently while the mail server is broken: the list says so at once, and a mail later."""

import time
from functools import partial

import psycopg

from tests.chaos.database.requests import Client
from tests.chaos.matrix.installation import Installation
from tests.chaos.matrix.verbs import RETRIES_WITHIN, control, insist
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
        self._id = str(answer.json["id"])
        self._path = f"/api/projects/{self._id}"
        self._container = installation.instance.name_of(self._id)
        self._before = len(self._received())

    def crash(self) -> None:
        """Its token is refused, now and after every start. Returns when its owner can read that, and a mail waits.

        Its owner stops it then, so that rows and engine agree about it.
        """
        self._installation.instance.tell_stub(self._container, "exit20", for_ever=True)
        wait_until(self._is_crashed, within=TOLD_WITHIN, every=0.2, what="It is not told to have crashed")
        wait_until(self._has_mail, within=TOLD_WITHIN, every=0.2, what="No mail is to be sent")
        stopped = insist(partial(control, self._client, self._id, "stop"), time.monotonic() + RETRIES_WITHIN)
        assert stopped.status == 200, stopped

    def wait_for_mail(self) -> None:
        wait_until(
            lambda: len(self._received()) > self._before, within=MAILED_WITHIN, every=0.2, what="There is no mail"
        )

    def close(self) -> None:
        """A project that cannot be started would count as a fault when all existing ones are started."""
        gone = insist(partial(self._client.send, "DELETE", self._path), time.monotonic() + RETRIES_WITHIN)
        assert gone.status in {202, 204}, gone

    def _is_crashed(self) -> bool:
        answer = self._client.send("GET", self._path)
        return answer.status == 200 and answer.json["status"] == "crashed"

    def _has_mail(self) -> bool:
        with psycopg.connect(self._installation.direct_url, connect_timeout=5) as connection:
            question = "SELECT 1 FROM accounts_outgoingmail WHERE facts->>'project' = %s"
            return connection.execute(question, [self._id]).fetchone() is not None

    def _received(self) -> set[str]:
        """Returns the ids of the mails about it. One whose confirmation was lost may have come twice."""
        return {str(each["Message-ID"]) for each in self._installation.mail.taken if NAME in str(each["Subject"])}
