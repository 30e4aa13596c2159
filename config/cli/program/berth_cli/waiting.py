"""Waits until a project has settled. Repeats failed calls, because the command itself is already done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from berth_cli.api import Api, Document
from berth_cli.documents import as_object, text, value
from berth_cli.errors import CommandError, RefusedError, UnreachableError, UnsettledError
from berth_cli.projects import path_of
from berth_cli.transport import ANSWER_WITHIN

POLL_SECONDS = 1.0

MOVING = {"deploying", "starting", "restarting", "stopping", "deleting", "unknown"}
"""Statuses that will change. The engine may answer again soon."""


@dataclass
class Wait:
    """`goes_on` is the sentence for a user who interrupts the wait, or whose time limit ends it."""

    api: Api
    project_id: str
    seconds: float
    goes_on: str
    began: float = field(default_factory=time.monotonic)

    def until(self, is_settled: Callable[[Document], bool], document: Document | None = None) -> Document:
        """Returns the first settled document. Raises `UnsettledError`, and permanent refusals of the API."""
        trouble = ""
        while True:
            if document is not None and is_settled(document):
                return document
            left = self.began + self.seconds - time.monotonic()
            if left <= 0:
                sentence = f"{trouble or self._so_far(document)} {self.goes_on}".strip()
                raise UnsettledError(sentence, document=document.raw if document else b"")
            time.sleep(min(POLL_SECONDS, left))
            try:
                within = min(ANSWER_WITHIN, max(2.0, left))
                document, trouble = self.api.call("GET", path_of(self.project_id), patience=0, within=within), ""
            except CommandError as error:
                if not _may_pass(error):
                    raise
                trouble = str(error)

    def _so_far(self, document: Document | None) -> str:
        status = text(document.content, "status") if document else ""
        return f"It is still {status or 'under way'} after {self.seconds:.0f} s."


def has_settled(document: Document) -> bool:
    content = as_object(document.content)
    return text(content, "status") not in MOVING and not value(content, "image", "updating")


def is_down(document: Document) -> bool:
    return text(as_object(document.content), "status") in {"stopped", "suspended"}


def wait_until_gone(wait: Wait, document: Document) -> None:
    """Waits for the deletion that was answered with `document`. Raises `UnsettledError` if the project still exists at
    the end.
    """
    try:
        wait.until(lambda _document: False, document)
    except RefusedError as error:
        if error.status != 404:
            raise


def _may_pass(error: CommandError) -> bool:
    return isinstance(error, UnreachableError) or (
        isinstance(error, RefusedError) and (error.status >= 500 or error.status == 429)
    )
