"""An SMTP server that accepts mails, and misbehaves at one step of the conversation."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message

STEPS = ("connect", "EHLO", "STARTTLS", "MAIL", "RCPT", "DATA", "text", "QUIT")
"""The steps at which the server speaks. At `text`, the end of the mail, it accepts the mail."""

_WELL = {
    "connect": "220 mail.example",
    "EHLO": "250-mail.example\r\n250 STARTTLS",
    "STARTTLS": "220 go on",
    "DATA": "354 go on",
    "QUIT": "221 bye",
}


@dataclass
class SmtpServer:
    """`misbehave[step]` is the text of another answer, or a function that does something to the connection."""

    port: int = 0
    misbehave: dict[str, "str | Callable[[socket.socket, threading.Event], None]"] = field(default_factory=dict)
    taken: list[Message] = field(default_factory=list)
    connections: int = 0
    tls: ssl.SSLContext | None = None
    closed: threading.Event = field(default_factory=threading.Event)

    @property
    def ids(self) -> list[str]:
        return [str(message["Message-ID"]) for message in self.taken]

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                found, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._converse, args=(found,), daemon=True).start()

    def _converse(self, found: socket.socket) -> None:
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            stack.enter_context(found)
            lines = stack.enter_context(found.makefile("rb"))
            self._answer(found, "connect")
            while line := lines.readline():
                verb = line.split()[0].decode("latin-1").upper() if line.split() else ""
                step = "EHLO" if verb == "HELO" else verb
                self._answer(found, step if step in STEPS else "other")
                if verb == "DATA" and "DATA" not in self.misbehave:
                    text = b""
                    while (line := lines.readline()) not in {b".\r\n", b""}:
                        text += line
                    if line:
                        self.taken.append(message_from_bytes(text))
                        self._answer(found, "text")
                if verb == "STARTTLS" and self.tls is not None:
                    found = stack.enter_context(self.tls.wrap_socket(found, server_side=True))
                    lines = stack.enter_context(found.makefile("rb"))
                if verb == "QUIT":
                    return

    def _answer(self, found: socket.socket, step: str) -> None:
        does = self.misbehave.get(step)
        if callable(does):
            does(found, self.closed)
        else:
            found.sendall(f"{does or _WELL.get(step, '250 ok')}\r\n".encode())


def hang(found: socket.socket, closed: threading.Event) -> None:
    closed.wait()


def hang_up(found: socket.socket, closed: threading.Event) -> None:
    found.shutdown(socket.SHUT_RDWR)


def drip(found: socket.socket, closed: threading.Event) -> None:
    """Sends a line that never ends, byte by byte."""
    while not closed.wait(0.02):
        found.sendall(b"2")


def babble(found: socket.socket, closed: threading.Event) -> None:
    """Sends an answer that never ends, as fast as it is read."""
    while not closed.is_set():
        found.sendall(b"250-more to come\r\n" * 100)


@contextlib.contextmanager
def smtp_server(**misbehave: "str | Callable[[socket.socket, threading.Event], None]") -> Iterator[SmtpServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = SmtpServer(port=listener.getsockname()[1], misbehave=dict(misbehave))
        threading.Thread(target=server.serve, args=(listener,), daemon=True).start()
        try:
            yield server
        finally:
            server.closed.set()
            listener.shutdown(socket.SHUT_RDWR)
