"""Telegram, a provider and a mail server that answer with something wrong."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation


def telegram_answering(dial: str) -> Breaking:
    @contextmanager
    def faulty(installation: Installation) -> Iterator[None]:
        dials = installation.telegram
        with dials.changed:
            tokens = list(dials._bots)
        for token in tokens:
            getattr(dials, dial)(token)
        installation.telegram_dial = dial  # for bots that are created while it lasts
        try:
            yield
        finally:
            installation.telegram_dial = ""
            with dials.changed:
                tokens = list(dials._bots)
            for token in tokens:
                dials.heal(token)

    return faulty


def provider_answering(dial: str) -> Breaking:
    @contextmanager
    def faulty(installation: Installation) -> Iterator[None]:
        getattr(installation.provider, dial)()
        try:
            yield
        finally:
            installation.provider.heal()

    return faulty


def mail_answering(step: str, what: str | Callable[[socket.socket, threading.Event], None]) -> Breaking:
    @contextmanager
    def misbehaving(installation: Installation) -> Iterator[None]:
        installation.mail.misbehave[step] = what
        try:
            yield
        finally:
            installation.mail.misbehave.clear()

    return misbehaving
