"""Which host names the service answers to, for which clients, and on which port."""

from typing import Any

import pytest
from django.conf import settings as loaded
from django.core import mail
from django.test import Client

from tests.mailing import deliver

pytestmark = pytest.mark.one_database

ELSEWHERE, HERE = "203.0.113.7", "127.0.0.1"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
PORTS = ("", ":8000")
WRONG_PORTS = (":6666", ":80", ":08000", ":80000")


@pytest.fixture(autouse=True)
def _public(settings: Any) -> None:
    settings.BERTH_PUBLIC_URL = "https://berth.example"
    settings.BERTH_PORT = 8000
    settings.BERTH_NAMED_HOSTS = ["berth.internal"]
    settings.ALLOWED_HOSTS = ["berth.example", "localhost", "127.0.0.1", "[::1]", "berth.internal"]


def status(host: str, *, path: str = "/sign-in", address: str = ELSEWHERE, **extra: Any) -> int:
    return int(Client().get(path, headers={"host": host}, REMOTE_ADDR=address, **extra).status_code)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/sign-in", "/api/projects", "/sign-up", "/admin/login/", "/nothing", "/healthz/"])
@pytest.mark.parametrize("port", [*PORTS, *WRONG_PORTS])
@pytest.mark.parametrize("name", LOOPBACK)
def test_a_loopback_name_does_not_let_remote_clients_in(name: str, port: str, path: str) -> None:
    assert status(name + port, path=path) == 400


@pytest.mark.django_db
@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("name", [*LOOPBACK, "LOCALHOST"])
def test_clients_here_do_on_our_port(name: str, port: str) -> None:
    assert status(name + port, address=HERE) == 200
    assert status(name + port, address="::1") == 200
    assert status(name + port, address="") == 200  # a Unix socket


@pytest.mark.django_db
@pytest.mark.parametrize("port", WRONG_PORTS)
@pytest.mark.parametrize("name", LOOPBACK)
def test_and_on_no_other(name: str, port: str) -> None:
    assert status(name + port, address=HERE) == 400
    assert status(name + port, path="/healthz", address=HERE) == 400


@pytest.mark.parametrize("name", LOOPBACK)
def test_health_checks_come_from_anywhere(name: str) -> None:
    assert status(name, path="/healthz") == 200
    assert status(f"{name}:8000", path="/healthz") == 200


@pytest.mark.django_db
def test_a_client_of_a_local_proxy_is_not_local(settings: Any) -> None:
    settings.BERTH_TRUSTED_PROXIES = 1
    assert status("localhost", address=HERE, HTTP_X_FORWARDED_FOR=ELSEWHERE) == 400


@pytest.mark.django_db
@pytest.mark.parametrize("hops", [0, 1, 2])
@pytest.mark.parametrize("header", ["X_FORWARDED_FOR", "X_REAL_IP", "FORWARDED", "VIA"])
def test_a_client_of_an_untrusted_local_proxy_is_not_local(settings: Any, header: str, hops: int) -> None:
    """The operator has not named it, or the client has bypassed the proxy in front of it."""
    settings.BERTH_TRUSTED_PROXIES = hops
    for value in ("unknown", "", ELSEWHERE):
        passed_on: dict[str, Any] = {f"HTTP_{header}": value}
        assert status("localhost", address=HERE, **passed_on) == 400
        assert status("localhost", path="/healthz", address=HERE, **passed_on) == 200
        answer = Client().get("/healthz", headers={"host": "localhost"}, **passed_on)
        assert "X-Berth-Version" not in answer


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["berth.example", "berth.example:443", "berth.internal", "berth.internal:9000"])
def test_the_service_s_own_names_are_open_to_all(host: str) -> None:
    assert status(host) == 200


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["evil.example", "berth.example.evil.example", "localhost.evil.example", "127.0.0.2"])
def test_no_other_name_is(host: str) -> None:
    assert status(host) == 400
    assert status(host, address=HERE) == 400


@pytest.mark.django_db
@pytest.mark.parametrize("public_url", ["http://localhost:9000", "http://[::1]:9000", "http://127.0.0.1:9000"])
def test_a_service_that_is_public_on_this_machine_is_known_by_all_loopback_names(
    settings: Any, public_url: str
) -> None:
    """A container's port is mapped on its host, so that local clients seem to be remote."""
    settings.BERTH_PUBLIC_URL = public_url
    for name in LOOPBACK:
        assert status(f"{name}:9000") == status(f"{name}:8000") == 200
        assert status(f"{name}:6666") == 400


@pytest.mark.django_db
def test_a_loopback_name_that_the_operator_names_is_an_ordinary_one(settings: Any) -> None:
    settings.BERTH_NAMED_HOSTS = ["localhost"]
    assert status("localhost:6666") == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    "host", ["localhost:6666", "localhost", "berth.internal:66", "berth.example:1", "evil.example"]
)
@pytest.mark.parametrize("address", [HERE, ELSEWHERE])
def test_a_link_in_a_mail_leads_to_the_public_address_only(settings: Any, host: str, address: str) -> None:
    settings.BERTH_SIGNUP = "open"
    Client().post("/sign-up", {"email": "new@example.org"}, headers={"host": host}, REMOTE_ADDR=address)
    deliver()
    for message in mail.outbox:
        assert "https://berth.example/set-password/" in message.body
        assert host.partition(":")[0] not in message.body.replace("https://berth.example", "")
    assert loaded.BERTH_PUBLIC_URL == "https://berth.example"
