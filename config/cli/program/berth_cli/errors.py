"""How a command ends that is not done: a sentence for people, and the code with which the program exits."""

from __future__ import annotations

from typing import Any

REFUSED, USAGE, UNSETTLED, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 130, 141


class CommandError(Exception):
    """`str(error)` is the sentence. `document` is the problem document of the API, where that has refused."""

    code = REFUSED

    def __init__(self, sentence: str, *, document: bytes = b"") -> None:
        super().__init__(sentence)
        self.document = document


class RefusedError(CommandError):
    """The installation has answered, and will not."""

    def __init__(self, sentence: str, *, status: int, problem: dict[str, Any], document: bytes) -> None:
        super().__init__(sentence, document=document)
        self.status = status
        self.problem = problem


class UnreachableError(CommandError):
    """Nothing that Berth says has come back. Whether a command was carried out is not known where `is_sent`."""

    def __init__(self, sentence: str, *, is_sent: bool = True) -> None:
        super().__init__(sentence)
        self.is_sent = is_sent


class UsageError(CommandError):
    code = USAGE


class UnsettledError(CommandError):
    code = UNSETTLED
