"""Every route and every way to lose access while it is being answered: the answer is withheld."""

from itertools import cycle
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient
from rest_framework.views import APIView

from accounts.credentials.session_tokens import issue_session
from accounts.services import still_signed_in
from accounts.throttling.rate_limits import count_request
from projects.models import LongRequest
from projects.services.bulkheads import STREAMS
from tests.accounts.services.test_ended_meanwhile import COOKIE, ENDS
from tests.clients import browser_of
from tests.factories import ApiKeyFactory, plain_key
from tests.projects.api.revoked.revoking import SESSION, TOKEN_ENDS
from tests.sampling import Some
from tests.security.access_table import TABLE
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes

pytestmark = pytest.mark.one_database

SIGNS_OUT = "/api/auth/logout"
REQUESTS = [
    (route, method) for route, row in TABLE.items() if not row.public and route != SIGNS_OUT for method in row.methods
]
METHODS = ("GET", "POST")
FOLLOWED = ("/api/projects/<str:id>/logs", "/api/events")


@pytest.fixture(autouse=True)
def _checks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(still_signed_in, "ASK_AGAIN_AFTER", 0.0)


def _send_and_revoke(service: PopulatedService, monkeypatch: pytest.MonkeyPatch, kind: str, end: str, send: Any) -> Any:
    """The token ends as soon as the request is admitted. Changes of the request are undone."""
    initial, ended = APIView.initial, list[str]()

    def begin_and_end(view: APIView, *arguments: Any, **named: Any) -> None:
        initial(view, *arguments, **named)
        if not ended:
            ended.append(end)
            TOKEN_ENDS[end][1](service.alice, service.project)

    with transaction.atomic(), monkeypatch.context() as patched:
        service.alice.refresh_from_db()
        key = ApiKeyFactory.create(user=service.alice, scope="write")
        token = issue_session(service.alice) if kind == SESSION else plain_key(key)
        service.alice.token = token  # type: ignore[attr-defined]  # for those who revoke it
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        patched.setattr(APIView, "initial", begin_and_end)
        answer = send(client)
        transaction.set_rollback(True)
    assert ended
    return answer


@pytest.mark.parametrize(("route", "method"), REQUESTS)
def test_no_route_answers_a_token_revoked_during_the_request(
    service: PopulatedService, monkeypatch: pytest.MonkeyPatch, some: Some, route: str, method: str
) -> None:
    """A run takes every third way to end a token, and other ways for the next request."""
    rule = TABLE[route]
    path = address_of(route, service.route_parameters)
    ways = [(end, kind) for end, (kinds, _) in TOKEN_ENDS.items() for kind in kinds if rule.keys or kind == SESSION]
    for end, kind in some(ways, one_in=3, first=REQUESTS.index((route, method))):
        answer = _send_and_revoke(
            service,
            monkeypatch,
            kind,
            end,
            lambda client: getattr(client, method.lower())(path, rule.body),
        )
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token"), (end, kind)


@pytest.mark.parametrize("followed", FOLLOWED)
@pytest.mark.parametrize("end", TOKEN_ENDS)
def test_an_open_stream_ends_as_soon_as_its_token_is_revoked(
    service: PopulatedService, monkeypatch: pytest.MonkeyPatch, end: str, followed: str
) -> None:
    """It holds one of few places, and a connection to the engine."""
    service.engine.log(service.project.container_name, "must not be read")
    path = address_of(followed, service.route_parameters)
    kind = TOKEN_ENDS[end][0][0]
    answer = _send_and_revoke(
        service, monkeypatch, kind, end, lambda client: client.get(path, query_params={"follow": "true"})
    )
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token"), (end, kind)
    assert STREAMS.taken == 0
    assert not LongRequest.objects.exists()


@pytest.mark.rare(1)
def test_no_page_answers_a_session_ended_during_the_request(
    service: PopulatedService, monkeypatch: pytest.MonkeyPatch, some: Some
) -> None:
    """Each page by one of the methods, and in turn every way to end a session."""
    wrong, ended = list[str](), list[Any]()
    ends = cycle(end for name, end in ENDS.items() if name != "made staff")  # the admin is that already
    asked = [
        (route, way) for number, route in enumerate(page_routes()) for way in some(METHODS, one_in=2, first=number)
    ]
    for request, end in zip(asked, ends, strict=False):
        route, method = request
        with transaction.atomic(), monkeypatch.context() as patched:
            service.admin.refresh_from_db()
            browser = browser_of(service.admin)

            def count_and_end(
                *arguments: Any, browser: Client = browser, request: Any = request, end: Any = end, **named: Any
            ) -> Any:
                if ended[-1:] != [request]:
                    ended.append(request)
                    end(service.admin, browser.cookies[COOKIE].value)
                return count_request(*arguments, **named)

            patched.setattr("accounts.dashboard.middleware.count_request", count_and_end)
            answer = browser.generic(method, address_of(route, service.route_parameters))
            # 400: Django says of an empty form that it took, whose message had no session any more, that it was ended.
            is_away = answer.status_code == 400 or (
                answer.status_code == 302 and answer["Location"].startswith("/sign-in")
            )
            if ended[-1:] == [request] and not is_away:
                wrong.append(f"{method} {route}: {answer.status_code}")
            transaction.set_rollback(True)
    assert wrong == []
    assert len(ended) > 60
