"""The certificates of the control side last two months: the gateway reads their files again when they change."""

import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from containers.gateway.authority import SERVICE, Authority, Identity, Role, name_of_node
from tests.gateway.process import PATIENCE, Gateway
from tests.gateway.secured import INSTANCE, KEYS, NODE, come, issue, listen_secured, port_of, showing

pytestmark = pytest.mark.one_database


@pytest.fixture
def gateway(own_gateway: Gateway) -> Gateway:
    listen_secured(own_gateway)
    return own_gateway.start()


def shown(gateway: Gateway) -> bytes | None:
    """Returns the certificate that the gateway shows to the service."""
    context = showing(Role.SERVICE, SERVICE)
    with (
        socket.create_connection(("127.0.0.1", port_of(gateway)), PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=name_of_node(NODE)) as stream,
    ):
        return stream.getpeercert(binary_form=True)


def replace(file: Path, text: str) -> None:
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def as_shown(identity: Identity) -> bytes:
    return ssl.PEM_cert_to_DER_cert(identity.certificate)


def test_renewed_certificates_are_read_again_and_unreadable_ones_change_nothing(gateway: Gateway) -> None:
    control, authorities = (gateway.folder / name for name in ("control", "authorities"))
    first, now = shown(gateway), datetime.now(UTC)
    second = issue(Role.NODE, name_of_node(NODE), now=now + timedelta(days=31))
    replace(control, second.key + second.certificate)
    assert first != shown(gateway) == as_shown(second)
    control.write_text(second.key)  # half of it
    assert [shown(gateway) for _ in range(2)] == [as_shown(second)] * 2
    control.unlink()
    assert json.loads(come(gateway, showing(Role.SERVICE, SERVICE)))["ok"]
    assert sum("cannot be read" in line for line in gateway.lines) <= 2, "Each state of the files is told once."
    third = issue(Role.NODE, name_of_node(NODE), now=now - timedelta(days=31))
    replace(control, third.key + third.certificate)
    assert shown(gateway) == as_shown(third)
    by_a_new_key = showing(Role.SERVICE, SERVICE, key=KEYS[1])
    assert come(gateway, by_a_new_key) == b""
    replace(authorities, authorities.read_text() + Authority(KEYS[1], instance=INSTANCE).certificate)
    assert json.loads(come(gateway, by_a_new_key))["ok"]
