"""Files that an agent sends to Telegram and gets from there."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

import pytest
from gateway.rules.paths import read_telegram

from tests.fakes.http_server import FakeServer
from tests.fakes.messages import Answer, Request
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database


class Files(FakeServer):
    """Keeps uploads, and sends a file of three megabytes, or three bytes of it, to a client with the real token."""

    def __init__(self) -> None:
        super().__init__()
        self.uploaded: list[bytes] = []

    def answer(self, request: Request) -> Answer:
        if request.method == "POST":
            self.uploaded.append(request.body)
            return Answer.json(200, {"ok": True, "result": {}})
        if request.headers.get("range"):
            return Answer(
                206, b"xyz", {"Content-Type": "application/octet-stream", "Content-Range": "bytes 2-4/3000000"}
            )
        return Answer(200, b"x" * 3_000_000, {"Content-Type": "application/octet-stream"})


@contextmanager
def files_of(agent: Agent) -> Iterator[Files]:
    with Files() as files:
        entry = agent.entry()
        agent.gateway.apply(entry | {"telegram": entry["telegram"] | {"base": files.url}})
        yield files


def test_files_pass_up_and_down(alice: Agent) -> None:
    with files_of(alice) as files:
        form = {"Content-Type": "multipart/form-data; boundary=x"}
        path = f"bot1:{alice.virtual_token}"
        assert alice.ask("POST", f"/tg/{path}/sendDocument", b"y" * 2_000_000, headers=form).status == 200
        assert files.uploaded == [b"y" * 2_000_000]
        assert alice.ask("GET", f"/tg/file/{path}/documents/file_1.pdf").body == b"x" * 3_000_000
        assert files.requests == [
            ("POST", f"/bot{alice.token}/sendDocument"),
            ("GET", f"/file/bot{alice.token}/documents/file_1.pdf"),
        ]


@pytest.mark.parametrize(
    "name",
    ["a%20b.pdf", "a+b.pdf", "file_1.%D0%BF%D0%B4%D1%84", "file_1.%e6%96%87", "file_(1),[2].pdf", "a%27b", "a%5Bb%5D"],
)
def test_a_file_s_path_passes_byte_for_byte(alice: Agent, name: str) -> None:
    """Its ending is that of the sender's file, in any script."""
    allowed = not set(name) & set("[]")
    with files_of(alice) as files:
        found = alice.ask("GET", f"/tg/file/bot1:{alice.virtual_token}/documents/{name}")
        assert found.status == (200 if allowed else 404)
        asked = f"/file/bot{alice.token}/documents/{unquote(name)}"  # the fake decodes it
        assert files.requests == [("GET", asked)] * allowed
    path = read_telegram(f"/tg/file/bot1:{alice.virtual_token}/documents/{name}")
    assert path is None or path.rest == f"documents/{name}"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "../getMe",
            "%2e%2e/getMe",
            ".%2e/getMe",
            "a/../../getMe",
            "a/%2E%2E/x",
            "./x",
            "a/%2e/x",
            "..",
            "%2e",
            "a/..",
        ),
        *("a%2f..%2fx", "a%2Fx", "a%5cx", "a%5C..%5Cx", "a\\x", "a%252e%252e%252fx", "a%25x", "a%3Fx", "a%23x", "a%00"),
        *(
            "a%0d%0ax",
            "a%0ax",
            "a%7f",
            "a%C2%85",
            "a%E2%80%A8",
            "a//x",
            "/x",
            "a/",
            "a%2",
            "a%zz",
            "a%",
            "a%ff",
            "a%c0%ae",
        ),
        *("a%C0%AF..", "a%EF%BF%BD", "a#x", "a;/../x", "a..b", "%2Ehidden"),
    ],
)
def test_a_file_s_path_leads_nowhere_else(path: str) -> None:
    assert read_telegram(f"/tg/file/bot1:{'x' * 20}/{path}") is None


def test_a_part_of_a_file_says_which_part_it_is(alice: Agent) -> None:
    with files_of(alice):
        path = f"/tg/file/bot1:{alice.virtual_token}/documents/file_1.pdf"
        part = alice.ask("GET", path, headers={"Range": "bytes=2-4"})
    assert (part.status, part.body, part.headers["content-range"]) == (206, b"xyz", "bytes 2-4/3000000")


@pytest.mark.parametrize("colon", [":", "%3A", "%3a"])
def test_the_colon_of_a_token_may_be_escaped(alice: Agent, colon: str) -> None:
    """python-telegram-bot escapes the path of a file that it gets."""
    with files_of(alice) as files:
        bot = f"bot1{colon}{alice.virtual_token}"
        assert alice.ask("GET", f"/tg/file/{bot}/photos/file_0.jpg").status == 200
        assert alice.ask("POST", f"/tg/{bot}/getMe", {}).status == 200
        assert files.requests == [
            ("GET", f"/file/bot{alice.token}/photos/file_0.jpg"),
            ("POST", f"/bot{alice.token}/getMe"),
        ]
