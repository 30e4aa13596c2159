"""Every route of /api, by every method, for everybody: who is let in, and that nobody sees what is another's.

The routes come from the URL configuration, so one that is not in the table fails until somebody has thought about it.
"""

import copy
import json
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any
from uuid import uuid4

import pytest

from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, OpenSession, Scope
from accounts.services.api_keys import issue_api_key
from accounts.services.open_sessions import note_api_session
from projects.models import Event, Project
from tests.deploying import deploy_project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.played_back import played_back
from tests.sampling import Some
from tests.security.access_table import ANOTHER, CODES, CONTENTS, METHODS, QUERIES, ROUTES, SAFE, TABLE, requests_by
from tests.security.callers import EVERYBODY, OTHERS, OWNER, UNKNOWN, Callers

pytestmark = pytest.mark.one_database


@dataclass(frozen=True)
class Scene:
    """What there is: Alice's project and key, and everybody."""

    callers: Callers
    project: Project
    key: ApiKey
    session: OpenSession
    engine: MemoryEngine

    def path(self, route: str, *, other: str = "") -> str:
        """The address of what is Alice's; with `other` the same with another id."""
        hers = self.session if "sessions" in route else self.key
        return route.replace("<str:id>", other or str(self.project.id)).replace("<str:pk>", other or str(hers.pk))

    def send(self, who: str, method: str, path: str, content: Any = b"", kind: str = "application/json") -> Any:
        """The answer to a request of which nothing remains."""
        with played_back(self.engine):
            return self.callers.client(who).generic(method, path, content, kind)


@pytest.fixture
def scene(db: None, engine: MemoryEngine) -> Scene:
    callers = Callers()
    project = deploy_project(callers.client("owner session"))
    key, _ = issue_api_key(user=callers.alice, session=None, name="spare", scope=Scope.READ, lifetime_days=30)
    engine.log(project.container_name, "Alice's agent says hello")
    token = issue_session(callers.alice)
    note_api_session(user=callers.alice, token=token, address="203.0.113.77", program="Alice's laptop")
    return Scene(callers, project, key, OpenSession.objects.get(), engine)


def test_every_route_is_in_the_table() -> None:
    assert set(ROUTES) == set(TABLE)


def test_the_table_of_callers_is_complete() -> None:
    assert len(EVERYBODY) == 12


def several(routes: list[str]) -> list[list[str]]:
    """Routes that share a scene, which takes as long as a dozen requests."""
    return [routes[begin : begin + 5] for begin in range(0, len(routes), 5)]


@pytest.mark.parametrize("routes", several(ROUTES), ids=itemgetter(0))
def test_every_caller_gets_the_answer_of_the_table(scene: Scene, routes: list[str], some: Some) -> None:
    for route in routes:
        for method, who in requests_by(EVERYBODY, TABLE[route], some):
            assert_is_as_expected(scene, route, method, who)


def assert_is_as_expected(scene: Scene, route: str, method: str, who: str) -> None:
    rule = TABLE[route]
    answer = scene.send(who, method, scene.path(route), json.dumps(rule.body).encode() if rule.body else b"")
    expected = rule.expected(method, who)
    assert answer.status_code == expected, f"{method} {route} by {who}: {answer.status_code}, not {expected}"
    if expected >= 400 and method != "HEAD":
        code = "not_authenticated" if who == "nobody" else "invalid_token"
        assert_problem(answer, expected, CODES.get(expected, code))
    assert ("WWW-Authenticate" in answer) == (expected == 401)
    assert ("Allow" in answer) or expected != 405


def assert_shows_nothing_of(scene: Scene, answer: Any) -> None:
    text = f"{answer.content.decode()} {dict(answer.headers)}"
    rows = (scene.project, scene.key, scene.session, scene.callers.alice)
    hers = (scene.project.name, scene.callers.alice.email, *(str(row.pk) for row in rows))
    for mark in (*hers, "987654321", "says hello", "laptop", scene.key.hint, scene.project.api_key_hint):
        assert mark not in text, mark


@pytest.mark.parametrize("routes", several([route for route in ROUTES if not TABLE[route].public]), ids=itemgetter(0))
def test_nobody_else_sees_any_of_alice_s_data(scene: Scene, routes: list[str], some: Some) -> None:
    for route in routes:
        for method, who in requests_by((*UNKNOWN, *OTHERS), TABLE[route], some):
            body = {"name": "Bob's"} | ({"scope": "read"} if "keys" in route else {})
            answer = scene.send(who, method, scene.path(route), json.dumps(body).encode())
            assert_shows_nothing_of(scene, answer)


def comparable(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """All of an answer but what differs with every request."""
    once = {"x-request-id", "ratelimit", "ratelimit-policy"}
    headers = {name.lower(): value for name, value in answer.headers.items() if name.lower() not in once}
    content: bytes = answer.content
    if sent := answer.headers.get("X-Request-ID"):
        content = content.replace(sent.encode(), b"")
    return answer.status_code, headers, content


@pytest.mark.parametrize("route", [route for route in ROUTES if "<" in route])
def test_alice_s_id_is_answered_like_an_unknown_id(scene: Scene, some: Some, route: str) -> None:
    """A run sends every second body and query: as one caller the even ones, as the next one the odd ones."""
    before = _everything(scene)
    for number, (method, who) in enumerate(product(METHODS, (*OTHERS, *UNKNOWN))):
        client = scene.callers.client(who)
        looked_at = who in OTHERS and method in TABLE[route].methods  # the rest comes neither to body nor query
        asked = [("", *content) for content in CONTENTS.values()][: None if looked_at and method not in SAFE else 1]
        asked += [(query, b"", "application/json") for query in QUERIES if looked_at]
        for query, content, kind in some(asked, one_in=2, first=number) or asked:
            hers, never = (
                comparable(client.generic(method, path + query, content, kind))  # type: ignore[arg-type]  # bytes are fine
                for path in (scene.path(route), scene.path(route, other=str(uuid4())))
            )
            assert hers == never, (who, method, query, content[:40])
    assert _everything(scene) == before


def _everything(scene: Scene) -> list[Any]:
    rows = [list(Project.objects.values()), list(Event.objects.values())]
    keys = list(ApiKey.objects.filter(user=scene.callers.alice).order_by("pk").values())
    sessions = list(OpenSession.objects.values())
    return [*rows, keys, sessions, copy.deepcopy(scene.engine.containers), scene.engine.volumes, _acts(scene.engine)]


def _acts(engine: MemoryEngine) -> list[tuple[str, str]]:
    return [call for call in engine.calls if call[0] in {"deploy", "start", "stop", "remove"}]


@pytest.mark.parametrize("who", [*OWNER, *OTHERS])
def test_reads_change_nothing(scene: Scene, some: Some, who: str) -> None:
    """A run reads each route by one of the methods as one caller, and by another one as the next."""
    client = scene.callers.client(who)
    client.get("/api/projects")  # the first use of a key is noted
    before = _everything(scene)
    for number, route in enumerate(ROUTES, [*OWNER, *OTHERS].index(who)):
        for method in some(("GET", "HEAD", "OPTIONS"), one_in=3, first=number):
            client.generic(method, scene.path(route))
    assert _everything(scene) == before


@pytest.mark.parametrize("who", OTHERS)
def test_lists_hold_only_the_caller_s_own_rows(scene: Scene, who: str) -> None:
    client = scene.callers.client(who)
    assert client.get("/api/projects").json() == client.get("/api/projects?limit=200").json() == []
    assert client.get("/api/projects", {"owner": str(scene.callers.alice.pk)}).status_code == 400
    theirs = Project.objects.filter(owner=scene.callers.alice).values_list("pk", "name", "bot_id", "bot_username")
    assert theirs
    for words in {str(value) for row in theirs for value in row if value}:
        assert client.get("/api/projects", {"q": words}).json() == []
    made = client.post("/api/projects", ANOTHER)
    assert [entry["id"] for entry in client.get("/api/projects").json()] == [made.json()["id"]]
    hers = scene.callers.client("owner session").get("/api/projects").json()
    assert [entry["id"] for entry in hers] == [str(scene.project.id)]


def test_only_the_owner_can_use_a_cursor(scene: Scene) -> None:
    """A cursor of Alice's pages through what is Bob's."""
    alice = scene.callers.client("owner session")
    assert alice.post("/api/projects", ANOTHER).status_code == 201
    link = alice.get("/api/projects?limit=1")["Link"]
    address = link.partition("<")[2].partition(">")[0]
    assert len(alice.get(address).json()) == 1
    assert scene.callers.client("stranger session").get(address).json() == []


@pytest.mark.parametrize("path", ["/api/projects", "/api/auth/keys", "/api/auth/sessions"])
def test_a_token_in_the_query_does_not_authenticate(scene: Scene, path: str) -> None:
    names = ("token", "access_token", "api_key", "key", "jwt", "authorization")
    for name, who in product(names, ("owner session", "owner write key")):
        answer = scene.callers.client("nobody").get(path, {name: scene.callers._tokens[who]})
        assert_problem(answer, 401, "not_authenticated")


def test_a_cookie_does_not_authenticate(scene: Scene) -> None:
    (client := scene.callers.client("nobody")).force_login(scene.callers.alice)
    assert_problem(client.get("/api/projects"), 401, "not_authenticated")
    assert client.get("/api/auth/session").json() == {"authenticated": False, "user": None}
