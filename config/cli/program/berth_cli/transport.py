"""Sends one HTTP request to one host, with checked TLS, through the proxy of the environment."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any, NoReturn

from berth_cli import VERSION
from berth_cli.addresses import is_loopback, name_of
from berth_cli.errors import CommandError, UnreachableError, UsageError

ANSWER_WITHIN = 35.0
"""Seconds without any byte. The service answers each request within 30."""

LARGEST_ANSWER = 32 * 1024 * 1024

_WEIGHED = (OSError, http.client.HTTPException, ValueError)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Message
    body: bytes


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: a token goes only to the host that the user named."""

    def redirect_request(self, *_about: object) -> None:
        return None


class Transport:
    def __init__(self, address: str, *, ca: str = "") -> None:
        self.address = address
        self.host = name_of(address)
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if address.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=_trust(ca)))
        if is_loopback(address):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        within: float | None = None,
    ) -> Answer:
        """Raises `UnreachableError` if no complete answer arrives, or nothing for `within` seconds."""
        within = ANSWER_WITHIN if within is None else within
        try:
            with self.open(method, path, headers=headers, body=body, within=within) as answer:
                content = answer.read(LARGEST_ANSWER + 1)
                if len(content) > LARGEST_ANSWER:
                    raise UnreachableError(f"The answer of {self.host} is larger than any answer of Berth.")
                if answer.length:  # declared bytes that have not arrived, which Python accepts silently
                    raise http.client.IncompleteRead(content, answer.length)
                return Answer(answer.status, answer.headers, content)
        except _WEIGHED as error:
            self.explain(error, within)

    def open(
        self, method: str, path: str, *, headers: Mapping[str, str], body: bytes | None = None, within: float
    ) -> Any:
        """Returns the open answer, even if it is an error. Raises `UnreachableError`."""
        try:
            request = urllib.request.Request(self.address + path, data=body, method=method)  # noqa: S310 - http(s) only
            request.add_header("User-Agent", f"berth/{VERSION}")
            for name, value in headers.items():
                # A proxy of the environment must not see these headers. Over https they go through its tunnel.
                request.add_unredirected_header(name, value)
            return self._opener.open(request, timeout=within)
        except urllib.error.HTTPError as error:
            return error
        except _WEIGHED as error:
            self.explain(error, within)

    def explain(self, error: Exception, within: float) -> NoReturn:
        """Raises an `UnreachableError` that says what happened."""
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        sentence = _explain(cause, host=self.host, address=self.address, within=within)
        is_sent = not isinstance(cause, (ConnectionRefusedError, socket.gaierror, ssl.SSLError))
        raise UnreachableError(sentence, is_sent=is_sent) from None


def _trust(ca: str) -> ssl.SSLContext:
    """Trusts the certificates of the system (or of SSL_CERT_FILE), or only those in the file `ca`."""
    try:
        context = ssl.create_default_context(cafile=ca or None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"The certificates in {ca or 'SSL_CERT_FILE'} cannot be read: {reason}.") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _explain(cause: object, *, host: str, address: str, within: float) -> str:
    if isinstance(cause, ssl.SSLError):
        return _explain_tls(cause, host)
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    sentence = f"{host} cannot be reached: {reason}."
    if isinstance(cause, TimeoutError) or "timed out" in str(cause):
        sentence = f"{host} has not answered within {within:.0f} seconds."
    elif isinstance(cause, ConnectionRefusedError):
        sentence = f"Nothing answers at {address}. Is Berth running there?"
    elif isinstance(cause, socket.gaierror):
        sentence = f"The name {host} cannot be found."
    elif isinstance(cause, (http.client.HTTPException, ConnectionError)):
        sentence = f"The answer of {host} was cut off."
    return sentence


def _explain_tls(cause: ssl.SSLError, host: str) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {host} is not trusted: {cause.verify_message}. "
            "If it is signed by an authority of your own, name the authority's file with --ca."
        )
    return f"{host} does not speak TLS correctly: {cause.reason or 'the connection was cut off'}."


def check_token(token: str) -> str:
    """Returns the token, which becomes a header. Raises `CommandError` without repeating the token."""
    if not token:
        raise UsageError("There is no token. Run `berth login`, or set BERTH_TOKEN along with BERTH_URL.")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise CommandError("The token is damaged: it contains characters that no token has. Run `berth login` again.")
    return token
