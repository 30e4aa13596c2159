"""The values that the typed readers of the environment return."""

from decimal import Decimal
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import addresses, env, servers


@pytest.mark.parametrize("value", ["$HOME", "pa$$word", "a#b", "with spaces inside"])
def test_a_value_is_read_literally(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("BERTH_X", f" {value} \n")
    assert env.text("BERTH_X") == value


def test_a_value_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("from the file\n")
    monkeypatch.setenv("BERTH_X_FILE", str(tmp_path / "x"))
    assert env.text("BERTH_X", "default") == "from the file"


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_value_counts_as_unset(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("BERTH_X", value)
    assert env.text("BERTH_X", "default") == "default"
    assert env.number("BERTH_X", 7, low=1, high=9) == 7
    assert env.switch("BERTH_X", default=True) is True
    assert env.words("BERTH_X") == []


@pytest.mark.parametrize(("value", "factor"), [("", "4"), ("1", "1"), ("1.5", "1.5"), (" 0.25 ", "0.25"), ("9", "9")])
def test_a_factor_may_have_a_fraction(monkeypatch: pytest.MonkeyPatch, value: str, factor: str) -> None:
    monkeypatch.setenv("BERTH_X", value)
    assert env.factor("BERTH_X", "4", low=Decimal("0.1"), high=Decimal(9)) == Decimal(factor)


@pytest.mark.parametrize("value", ["0", "-1", "9.01", "x", "nan", "inf", "1e3", "1,5", ".5", "٣", "1" * 5000])
def test_a_factor_is_a_plain_number_within_its_limits(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("BERTH_X", value)
    with pytest.raises(ImproperlyConfigured, match=r"BERTH_X is .* Set it to a number from 0.1 to 9"):
        env.factor("BERTH_X", "4", low=Decimal("0.1"), high=Decimal(9))


@pytest.mark.parametrize(
    ("value", "networks"),
    [
        ("10.0.0.0/8", [("10.0.0.0/8", None)]),
        ("10.0.0.5:8080", [("10.0.0.5/32", 8080)]),
        ("192.168.1.7/24, fd00::5", [("192.168.1.0/24", None), ("fd00::5/128", None)]),
        ("[fd00::5/128]:443", [("fd00::5/128", 443)]),
    ],
)
def test_networks_are_read_with_and_without_a_port(
    monkeypatch: pytest.MonkeyPatch, value: str, networks: list[tuple[str, int | None]]
) -> None:
    monkeypatch.setenv("BERTH_X", value)
    assert addresses.networks("BERTH_X") == networks


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://localhost:8000"),
        ("::", "http://localhost:8000"),
        ("::1", "http://[::1]:8000"),
        ("berth.lan", "http://berth.lan:8000"),
    ],
)
def test_the_local_url_can_be_opened_on_this_machine(host: str, url: str) -> None:
    assert env.local_url(host, 8000) == url


def test_a_database_is_sqlite_in_the_given_file_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    path = Path("/with space/and+plus/x.sqlite3")
    assert servers.database("DATABASE_URL", path) == {"ENGINE": "config.database.sqlite", "NAME": str(path)}


def test_a_database_url_may_hold_escaped_characters_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://berth:p%40ss@db.internal:5433/berth?sslmode=require")
    database = servers.database("DATABASE_URL", Path("unused"))
    assert (database["USER"], database["PASSWORD"], database["HOST"], database["PORT"], database["OPTIONS"]) == (
        "berth",
        "p@ss",
        "db.internal",
        5433,
        {"sslmode": "require"},
    )


@pytest.mark.parametrize("url", ["postgresql://", "sqlite://", "mysql://root@localhost/x", "postgres:x", "//db/x"])
def test_a_database_url_names_a_database_of_a_kind_we_know(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL is not a database URL"):
        servers.database("DATABASE_URL", Path("unused"))


@pytest.mark.parametrize(
    ("url", "name", "host"),
    [
        ("sqlite:////dev/shm/x%20y.sqlite3", "/dev/shm/x y.sqlite3", ""),
        ("postgresql://%2Frun%2Fpostgresql/berth", "berth", "/run/postgresql"),
        ("postgresql://[fd00::5]:5433/berth", "berth", "fd00::5"),
        ("postgresql://a.lan,b.lan/berth?target_session_attrs=read-write", "berth", "a.lan,b.lan"),
    ],
)
def test_a_database_url_names_a_file_a_socket_or_servers(
    monkeypatch: pytest.MonkeyPatch, url: str, name: str, host: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    database = servers.database("DATABASE_URL", Path("unused"))
    assert (database["NAME"], database["HOST"]) == (name, host)


@pytest.mark.parametrize(
    ("host", "domain"), [("berth.lan", "berth.lan"), ("10.0.0.7", "[10.0.0.7]"), ("::1", "[IPv6:::1]")]
)
def test_a_mail_from_an_address_has_it_in_brackets(host: str, domain: str) -> None:
    assert servers.mail_domain(host) == domain
