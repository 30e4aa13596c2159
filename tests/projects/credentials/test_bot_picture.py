"""The picture of a bot, which the form of a new project shows without an address that contains the token."""

import json
from base64 import b64encode
from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from projects.credentials import bot_picture
from tests.canaries import CANARY_TELEGRAM_TOKEN, find_canary
from tests.clients import browser_of
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_files import upload

pytestmark = pytest.mark.usefixtures("credentials_are_verified")

TOKEN = CANARY_TELEGRAM_TOKEN
PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100
JPEG = b"\xff\xd8\xff\xe0" + b"y" * 100
Give = Callable[[bytes], None]


@pytest.fixture
def give(telegram: FakeTelegram) -> Give:
    bot = telegram.add_bot(TOKEN)

    def with_picture(content: bytes) -> None:
        bot.picture = upload(bot, content)["file_id"]

    return with_picture


@pytest.fixture
def ask(alice: User) -> Callable[[], str]:
    def told() -> str:
        answer = browser_of(alice).post("/projects/new/bot", {"telegram_token": TOKEN}).content.decode()
        assert find_canary(answer) is None
        return answer

    return told


@pytest.mark.parametrize(("content", "kind"), [(PNG, "png"), (JPEG, "jpeg")])
def test_the_answer_with_the_bot_s_name_includes_its_picture(
    give: Give, ask: Callable[[], str], content: bytes, kind: str
) -> None:
    give(content)
    told = ask()
    assert f'src="data:image/{kind};base64,{b64encode(content).decode()}"' in told
    assert "✓ @" in told


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html>", b"GIF89a" + b"z" * 9, PNG * 400, PNG * 4000],
    ids=["nothing", "svg", "html", "another kind", "large", "larger than any answer"],
)
def test_only_a_small_picture_is_shown(give: Give, ask: Callable[[], str], content: bytes) -> None:
    give(content)
    told = ask()
    assert "<img" not in told
    assert "✓ @" in told


def test_a_bot_without_a_picture_has_none(telegram: FakeTelegram, ask: Callable[[], str]) -> None:
    assert "<img" not in ask()
    assert [path.partition("/get")[2] for _, path in telegram.requests] == [
        "Me", "WebhookInfo", "UserProfilePhotos",
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["getUserProfilePhotos", "getFile"])
@pytest.mark.parametrize(
    "result",
    [
        None, 7, [], {"photos": {}}, {"photos": [[]]}, {"photos": [[{"file_id": 7}]]}, {"file_path": 7},
        {"file_path": "../../getMe"}, {"file_path": "/a"}, {"file_path": "a?b"}, {"file_path": "x" * 300},
    ],
)  # fmt: skip
def test_the_name_is_shown_even_if_the_picture_fails(
    telegram: FakeTelegram, give: Give, ask: Callable[[], str], method: str, result: object
) -> None:
    give(PNG)
    telegram.garbage(TOKEN, method, body=json.dumps({"ok": True, "result": result}).encode())
    told = ask()
    assert "<img" not in told
    assert "✓ @" in told
    assert not any(path.startswith("/file/") for _, path in telegram.requests)


def test_a_slow_picture_delays_nobody(
    telegram: FakeTelegram, give: Give, ask: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot_picture, "LIMIT", 0.2)
    give(PNG)
    telegram.stall(TOKEN, "getUserProfilePhotos")
    assert "✓ @" in ask()


def test_pages_load_pictures_only_from_their_own_origin_or_inline(alice: User, client: Client) -> None:
    browser = browser_of(alice)
    policy = browser.get("/projects/new")["Content-Security-Policy"]
    assert "img-src 'self' data:" in policy
    assert "data:" not in policy.replace("img-src 'self' data:", "")
    for path in ("/", "/settings", "/api/docs"):
        assert "data:" not in browser.get(path)["Content-Security-Policy"]
