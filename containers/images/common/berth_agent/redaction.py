"""Keeps credentials out of everything the agent writes."""

import logging
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agent_contract import REDACTED, redact_credentials

if TYPE_CHECKING:
    import asyncio  # importing it takes 0.1 s on a quarter of a core, which would delay the first status line

CHATTY = ("httpx", "httpcore", "asyncio")

logger = logging.getLogger("assistant")


class Redactor:
    """Replaces all secrets that it knows, and everything that looks like a credential."""

    def __init__(self) -> None:
        self._secrets: list[str] = []

    def learn(self, *secrets: str) -> None:
        for secret in secrets:
            _, _, tail = secret.partition(":")  # a bot token's own secret part
            forms = {secret, quote(secret, safe=""), repr(secret)[1:-1], tail}
            self._secrets.extend(form for form in forms if len(form) >= 6)
        self._secrets.sort(key=len, reverse=True)

    def clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return redact_credentials(text)  # providers echo parts of a key in their errors


redactor = Redactor()


class RedactingFormatter(logging.Formatter):
    """Redacts the finished line including its traceback, so that no argument and no exception escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return redactor.clean(super().format(record))


def set_up_logging(level: str) -> None:
    """Hides libraries' messages below warnings, because httpx's INFO lines contain the bot token. DEBUG shows
    everything.
    """
    wanted = logging.DEBUG if level.strip().upper() == "DEBUG" else logging.INFO
    output = logging.StreamHandler(sys.stderr)
    output.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[output], level=wanted, force=True)
    if wanted > logging.DEBUG:
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
        logging.getLogger("telegram").setLevel(logging.CRITICAL)  # its failures are reported as statuses
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda args: _log_uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if error is not None:
        logger.critical("uncaught error", exc_info=(kind, error, trace))


def log_loop_error(_loop: "asyncio.AbstractEventLoop", context: dict[str, Any]) -> None:
    logger.error("error in a task: %s", context.get("message"), exc_info=context.get("exception"))
