"""The figures and switches on which documentation and security depend (ASVS 13.2.6)."""

import json
import os
import subprocess
import sys
import tomllib
import zoneinfo
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from accounts.throttling import login_attempts
from config.serving.gunicorn import server_options
from tests.paths import ROOT


def read_settings(tmp_path: Path, *names: str, **variables: str) -> list[Any]:
    """Returns the settings of an installation with these variables, read by a separate process."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    script = f"import json; from config import settings as s; print(json.dumps([s.{', s.'.join(names)}], default=str))"
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=kept | {"BERTH_DATA_DIR": str(tmp_path)} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    values: list[Any] = json.loads(result.stdout)
    return values


def test_a_stuck_worker_is_replaced_once_its_requests_have_no_time_left() -> None:
    assert settings.BERTH_WORKER_TIMEOUT == 30


def test_the_web_server_has_threads_and_no_control_socket() -> None:
    options = server_options()
    assert options["worker_class"] == "config.serving.worker.worker.BufferingWorker"
    assert (options["workers"], options["threads"]) == (2, 16)
    assert (options["timeout"], options["graceful_timeout"], options["keepalive"]) == (30, 30, 5)
    assert options["control_socket_disable"] is True


def test_the_pool_is_larger_than_the_threads_and_holds_no_connection_itself(tmp_path: Path) -> None:
    [databases] = read_settings(tmp_path, "DATABASES", DATABASE_URL="postgresql://a@b/c", BERTH_THREADS="32")
    pool = databases["default"]["OPTIONS"]["pool"]
    assert pool == {"min_size": 2, "max_size": 36, "timeout": 4, "reconnect_timeout": 3, "max_idle": 10}
    assert databases["default"]["CONN_MAX_AGE"] == 0


def test_sqlite_begins_immediate_waits_and_writes_ahead(tmp_path: Path) -> None:
    [databases] = read_settings(tmp_path, "DATABASES")
    options = databases["default"]["OPTIONS"]
    assert (options["transaction_mode"], options["timeout"]) == ("IMMEDIATE", 12)
    assert "journal_mode=WAL" in options["init_command"]
    assert databases["default"]["NAME"] == str(tmp_path / "berth.sqlite3")


@pytest.mark.django_db
def test_session_tokens_last_twelve_hours_and_have_a_separate_key() -> None:
    assert settings.SIMPLE_JWT["ACCESS_TOKEN_LIFETIME"] == timedelta(hours=12)
    assert settings.SIMPLE_JWT["SIGNING_KEY"] not in {settings.SECRET_KEY, *settings.BERTH_ENCRYPTION_KEYS}
    assert settings.SESSION_COOKIE_AGE == 12 * 3600


def test_a_user_and_minute_have_the_limits_that_are_promised(tmp_path: Path) -> None:
    limits, in_cache = read_settings(tmp_path, "BERTH_LIMITS", "BERTH_COUNT_IN_CACHE")
    assert limits == {"reads": 600, "commands": 60, "deploys": 20}
    assert in_cache is False
    assert (10, 100, timedelta(minutes=15)) == (
        login_attempts.LIMIT,
        login_attempts.ADDRESS_LIMIT,
        login_attempts.WINDOW,
    )


def test_counts_are_kept_in_redis_if_configured(tmp_path: Path) -> None:
    names = ("BERTH_COUNT_IN_CACHE", "CACHES")
    in_cache, caches = read_settings(tmp_path, *names, BERTH_CACHE_URL="redis://localhost:6379/1")
    assert in_cache is True
    assert caches["default"]["BACKEND"] == "config.cache_backend.DeadlineRedisCache"


@pytest.mark.parametrize(("variables", "required"), [({}, False), ({"BERTH_REQUIRE_STAFF_MFA": "on"}, True)])
def test_staff_need_a_second_factor_if_configured(tmp_path: Path, variables: dict[str, str], required: bool) -> None:
    assert read_settings(tmp_path, "BERTH_REQUIRE_STAFF_MFA", **variables) == [required]


@pytest.mark.parametrize("public_url", ["https://berth.example", "http://localhost:8000", "http://127.0.0.1:8000"])
def test_cookies_are_bound_to_the_host_and_secure(tmp_path: Path, public_url: str) -> None:
    for kind in ("SESSION", "CSRF"):
        names = [f"{kind}_COOKIE_{part}" for part in ("NAME", "SECURE", "HTTPONLY", "SAMESITE")]
        name, secure, http_only, same_site = read_settings(tmp_path, *names, BERTH_PUBLIC_URL=public_url)
        assert name.startswith("__Host-")
        assert (secure, http_only, same_site) == (True, True, "Lax")


def test_plain_http_from_elsewhere_can_still_sign_in(tmp_path: Path) -> None:
    names = ("SESSION_COOKIE_NAME", "SESSION_COOKIE_SECURE")
    assert read_settings(tmp_path, *names, BERTH_PUBLIC_URL="http://10.0.0.7:8000") == ["berth-session", False]


def test_https_is_remembered_by_browsers_for_a_year(tmp_path: Path) -> None:
    names = ("SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_PROXY_SSL_HEADER")
    behind_tls = read_settings(tmp_path, *names, BERTH_PUBLIC_URL="https://berth.example")
    assert behind_tls == [31_536_000, True, ["HTTP_X_FORWARDED_PROTO", "https"]]
    assert read_settings(tmp_path, *names) == [0, False, None]


def test_https_is_recognised_from_the_proxy_s_header(settings: Any, client: Client) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_HSTS_SECONDS = 31_536_000
    answer = client.get("/healthz", headers={"x-forwarded-proto": "https"})
    assert answer["Strict-Transport-Security"].startswith("max-age=31536000")


def test_the_host_of_the_public_url_is_answered(tmp_path: Path) -> None:
    variables = {"BERTH_PUBLIC_URL": "https://berth.example", "BERTH_ALLOWED_HOSTS": "berth.internal"}
    [hosts] = read_settings(tmp_path, "ALLOWED_HOSTS", **variables)
    assert {"berth.example", "berth.internal", "localhost"} <= set(hosts)
    assert "*" not in hosts


def test_debug_is_off() -> None:
    assert settings.DEBUG is False


def test_time_zones_work_without_the_system_s_database() -> None:
    """Django looks up the zone of the settings for each moment that a page shows."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [each for each in declared if each.startswith("tzdata")]
    try:
        zoneinfo.reset_tzpath(to=[])
        assert zoneinfo.ZoneInfo.no_cache(settings.TIME_ZONE).utcoffset(None) == timedelta(0)
    finally:
        zoneinfo.reset_tzpath()
