"""A fault of the gateway itself is answered in the upstream's format, and its log contains no credential."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from gateway.pipes.piece_filter import BEGUN
from gateway.serving.dispatcher import Dispatcher

pytestmark = pytest.mark.one_database


def answer(path: str, *, has_begun: bool = False, method: str = "POST") -> web.Response:
    """Returns the answer to a request whose sender the gateway cannot even identify."""
    fault = SimpleNamespace(identify=_fail)
    parts: list[Any] = [*([fault] * 5), SimpleNamespace(wait_for=lambda _: 0), fault]
    dispatcher: Any = Dispatcher(*parts)
    request = make_mocked_request(method, path, {"Host": "a", "Authorization": "Bearer CANARY"})
    if has_begun:
        request[BEGUN] = True
    found: web.Response = asyncio.run(dispatcher(request))
    return found


def _fail(**_: object) -> None:
    raise KeyError("CANARY")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/llm/v1/chat/completions", b'"type": "server_error"'),
        ("/llm/v1/messages", b'"type": "api_error"'),
        ("/tg/bot1:CANARY/getMe", b'"error_code": 500'),
        ("/out/CANARY/0123456789abcdef", b'"type": "server_error"'),
    ],
)
def test_a_fault_gets_an_answer_in_the_upstream_s_format(
    path: str, told: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        found = answer(path)
    assert found.status == 500
    assert isinstance(found.body, bytes)
    assert told in found.body
    assert "KeyError" in caplog.text
    assert "CANARY" not in caplog.text + str(found.body)


def test_a_fault_in_a_started_answer_cuts_it() -> None:
    assert answer("/llm/v1/chat/completions", has_begun=True).status == 502
