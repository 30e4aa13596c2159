"""Serves the bot and the provider on one port. The program's arguments are the bot token and the API key to accept."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from containers.trial_servers.bot_api import Bot
from containers.trial_servers.constants import LISTENING, PORT, PROVIDER, TELEGRAM, as_number, log_event
from containers.trial_servers.provider import Provider


class _Requests(BaseHTTPRequestHandler):
    bot: Bot
    provider: Provider

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        fields = dict(parse_qsl(address.query)) | self._body()
        if address.path.startswith(f"{TELEGRAM}/bot"):
            token, _, method = address.path.removeprefix(f"{TELEGRAM}/bot").rpartition("/")
            status, answer = self.bot.call(token.removesuffix("/test"), method.lower(), fields)
        elif address.path.startswith(PROVIDER):
            status, answer = self.provider.answer(address.path.removeprefix(PROVIDER), self.headers, fields)
        else:
            status, answer = 404, {"ok": False, "error_code": 404, "description": "Not Found"}
        self._send(status, answer)

    do_POST = do_GET  # noqa: N815 - the standard library asks for this name

    def _body(self) -> dict[str, Any]:
        """Returns the fields of a JSON body, a form, or a multipart form, of which only the text parts matter."""
        content = self.rfile.read(as_number(self.headers.get("content-length")))
        kind = self.headers.get_content_type()
        if kind == "application/x-www-form-urlencoded":
            return dict(parse_qsl(content.decode(errors="replace")))
        if kind == "multipart/form-data":
            return _parts(content, self.headers.get_boundary() or "")
        try:
            found = json.loads(content or b"{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _send(self, status: int, answer: Any) -> None:
        is_stream = isinstance(answer, str)
        content = answer.encode() if is_stream else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Logs nothing, because URLs contain tokens."""


def _parts(content: bytes, boundary: str) -> dict[str, str]:
    found = {}
    for part in content.split(f"--{boundary}".encode()):
        head, _, value = part.partition(b"\r\n\r\n")
        _, named, rest = head.partition(b'name="')
        if named:
            found[rest.partition(b'"')[0].decode(errors="replace")] = value.strip().decode(errors="replace")
    return found


def serve(token: str, key: str, port: int = PORT) -> ThreadingHTTPServer:
    """Returns the server, which is already listening."""
    requests = type("_Requests", (_Requests,), {"bot": Bot(token), "provider": Provider(key)})
    return ThreadingHTTPServer(("127.0.0.1", port), requests)


def main() -> None:
    token, key = sys.argv[1:3]
    server = serve(token, key)
    log_event(LISTENING)
    server.serve_forever()
