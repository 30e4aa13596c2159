"""Errors that end a command: a sentence for people, and the program's exit code."""

from __future__ import annotations

from typing import Any

REFUSED, USAGE, UNSETTLED, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 130, 141


class CommandError(Exception):
    """`str(error)` is the sentence. `document` is the problem document if the API has refused."""

    code = REFUSED

    def __init__(self, sentence: str, *, document: bytes = b"") -> None:
        super().__init__(sentence)
        self.document = document


class RefusedError(CommandError):
    """The installation has answered and refused."""

    def __init__(self, sentence: str, *, status: int, problem: dict[str, Any], document: bytes) -> None:
        super().__init__(sentence, document=document)
        self.status = status
        self.problem = problem


class UnreachableError(CommandError):
    """No answer of Berth has arrived. If `is_sent`, the command may have been carried out."""

    def __init__(self, sentence: str, *, is_sent: bool = True) -> None:
        super().__init__(sentence)
        self.is_sent = is_sent


class UsageError(CommandError):
    code = USAGE


class OutputError(CommandError):
    """Standard output cannot be written. What the command does is done."""


class UnsettledError(CommandError):
    code = UNSETTLED
