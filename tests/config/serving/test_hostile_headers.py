"""Hostile values in each header that Berth reads, sent to the real server: none breaks it, and none comes back."""

import socket

from tests.config.serving.served import Served
from tests.sampling import Some

GUARD = 60.0
ANY = [
    b"",
    b"\xff",
    b"x" * 7000,
    b"\t",
    b"a\x00b",
    b"a\x7fb",
    b"-1",
    b"9" * 5000,
    b",;=" * 1500,
    b"<b>evil</b>",
    b"'--",
]
VALUES: dict[str, list[bytes]] = {
    "Authorization": [
        b"Bearer", b"Bearer ", b"Bearer \xff", b"Basic ====", b"Bearer a b", b"Bearer eyJhbGciOiJub25lIn0.e30.",
    ],
    "Idempotency-Key": [],
    "If-None-Match": [b"*", b'W/"', b'"' * 3000, b'"x",' * 1500],
    "If-Modified-Since": [b"Thu, 99 Foo 99999 99:99:99 GMT", b"Mon, 01 Jan 0000 00:00:00 GMT"],
    "Last-Event-ID": [],
    "Accept": [b"application/json;q=x", b"text/html;q=1e999", b"\xff/\xff", b"*/*;q=0", b"a/b;" * 1500],
    "Accept-Language": [b"de;q=9e99", b"zh-hans-" * 400, b"../../../etc/passwd"],
    "Accept-Encoding": [b"identity;q=0", b"gzip;q=x"],
    "X-Forwarded-For": [b"1.2.3.4," * 1500, b"::ffff:1.2.3.4%eth0", b"[::1", b"999.1.1.1"],
    "X-Forwarded-Proto": [b"javascript", b"https,http"],
    "X-Forwarded-Host": [b"evil.example"],
    "Forwarded": [b"for=evil;host=evil.example"],
    "Content-Type": [
        b"application/json;charset=nope", b"application/json; charset=utf-7", b"multipart/form-data",
        b"multipart/form-data; boundary=\xff", b"multipart/form-data; boundary*=utf-8''x",
        b"application/x-www-form-urlencoded; charset=idna", b"application/x-www-form-urlencoded; charset=base64",
    ],
    "Content-Length": [b"+2", b"2_0", b"0x2", b"2, 2", b"\xd9\xa2", b"18446744073709551616"],
    "Expect": [b"200-ok"],
    "Range": [b"bytes=9999999999-", b"bytes=" + b"0-1," * 1500, b"bytes=5-1", b"bytes=\xd9\xa3-"],
    "Host": [
        b"evil.example", b"localhost:99999", b"localhost:abc", b"[::1", b"localhost@evil", b"localhost, localhost",
        b"..",
    ],
    "Origin": [b"null", b"http://[", b"http://[::1", b"http://x:99999999", b"http://a]b", b"//[", b"http://[v1.x]"],
    "Referer": [b"http://[", b"http://x:abc/", b"http://[::1%25x]/"],
    "Cookie": [
        b"a=b;" * 1500, b"__Host-berth-session=" + b"x" * 6000, b'__Host-berth-session="\\777"',
        b"__Host-berth-csrf=x",
    ],
    "X-CSRFToken": [],
    "X-Request-ID": [],
    "traceparent": [b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01", b"ff-"],
    "HX-Current-URL": [b"http://[", b"http://x:abc"],
    "HX-Request": [b"true"],
    "Access-Control-Request-Headers": [],
}  # fmt: skip
ASKED = [
    ("GET", "/api/projects"), ("POST", "/api/auth/login"), ("GET", "/sign-in"), ("POST", "/sign-in"),
    ("GET", "/api/schema"),
    ("GET", "/static/berth/berth.css"), ("GET", "/metrics"), ("OPTIONS", "/api/projects"), ("GET", "/healthz"),
    ("GET", "/cli"),
]  # fmt: skip


def ask(shared: Served, method: str, path: str, name: str, value: bytes) -> bytes:
    """Returns the whole answer; empty if the server considers the request unfinished and the client leaves."""
    body = b"{}" if method == "POST" else b""
    usual = {"Host": b"localhost", "Connection": b"close", "Content-Type": b"application/json"}
    usual |= {"Content-Length": b"2"} if body else {}
    head = b"".join(b"%s: %s\r\n" % (each.encode(), text) for each, text in {**usual, name: value}.items())
    with socket.create_connection(("127.0.0.1", shared.port), timeout=GUARD) as client:
        client.sendall(f"{method} {path} HTTP/1.1\r\n".encode() + head + b"\r\n" + body)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while piece := client.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
    return answer


def test_no_header_breaks_the_server_or_comes_back(shared: Served, some: Some) -> None:
    cases = [
        (method, path, name, value)
        for name, values in VALUES.items()
        for value in [*values, *ANY]
        for method, path in ASKED
    ]
    wrong, answered = [], 0
    for method, path, name, value in some(cases, one_in=40):
        answer = ask(shared, method, path, name, value)
        status = answer[9:12]
        answered += bool(status)
        comes_back = len(value) > 8 and value in answer.partition(b"\r\n\r\n")[0]
        if status >= b"500" or b"evil" in answer or comes_back or b"Traceback" in answer:
            wrong.append((method, path, name, value[:60], answer[:200]))
    assert wrong == []
    assert answered > 50
    assert "Traceback" not in shared.log.read_text()
    assert shared.is_up()
