"""Sends mail by SMTP within one deadline, even if the server answers slowly or with nonsense."""

import contextlib
import smtplib
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.utils.functional import cached_property

from containers.outbound import call_limits

ANSWERS_SIZE = 64 * 1024
"""Bytes that a server may send while it accepts a mail."""

QUIT_WITHIN = 2.0
"""Seconds for the goodbye, on which nothing depends."""


class BoundedSMTP(smtplib.SMTP):
    """A connection on which each look-up, connect, read and write keeps the limits of the calling thread."""

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        found = call_limits.connect(host, port)
        found.settimeout(timeout)
        return found


class BoundedSMTPOverTLS(smtplib.SMTP_SSL, BoundedSMTP):
    """The same, with TLS from the first byte."""


class DeadlineBackend(EmailBackend):
    """Django's backend, with `EMAIL_TIMEOUT` seconds for a whole sending instead of for each read.

    Once the server has accepted the mail, nothing that it does later counts as a failure: the mail would be sent twice.
    """

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return BoundedSMTPOverTLS if self.use_ssl else BoundedSMTP

    @cached_property
    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.sslsocket_class = call_limits.BoundedTLSSocket
        return context

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Returns how many were sent. Raises `OSError`, which includes all errors of smtplib, and `ValueError`."""
        with call_limits.time_limit(settings.EMAIL_TIMEOUT), call_limits.size_limit(ANSWERS_SIZE):
            try:
                return super().send_messages(email_messages) or 0
            finally:
                self.close()  # even if signing in has failed

    def open(self) -> bool:
        """Connects and signs in. Django's own method looks up this machine's name, for which there is no deadline."""
        if self.connection is not None:
            return False
        options: dict[str, Any] = {"context": self.ssl_context} if self.use_ssl else {}
        self.connection = self.connection_class(
            self.host, self.port, local_hostname=_own_name(), timeout=settings.EMAIL_TIMEOUT, **options
        )
        if self.use_tls:
            self.connection.starttls(context=self.ssl_context)
        if self.username and self.password:
            self.connection.login(self.username, self.password)
        return True

    def _close_connection(self, connection: smtplib.SMTP) -> None:
        with contextlib.suppress(OSError), call_limits.time_limit(QUIT_WITHIN):
            connection.quit()
        connection.close()


def _own_name() -> str:
    """Returns how this machine names itself to the server: its name, or an address literal if it has no full name."""
    name = socket.gethostname()
    return name if "." in name and name.isascii() else "[127.0.0.1]"
