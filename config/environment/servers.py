"""Reads the URLs of the servers that Berth itself uses: the engine, its database, its cache and its mail server."""

import os
from contextlib import suppress
from email.utils import getaddresses
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import EmailValidator

from config.environment import env
from config.environment.addresses import find_flaw, is_host

SQLITE, POSTGRESQL = "config.database.sqlite", "config.database.postgresql"
"""Django's backends with our limits."""


def database(name: str, default: Path) -> dict[str, object]:
    """Returns Django's settings for the database of the URL, or for the SQLite file `default` without one."""
    value = env.text(name)
    if not value:
        return {"ENGINE": SQLITE, "NAME": str(default)}
    try:
        # The library prints a URL with an unknown scheme, password included, as a warning.
        parts = urlsplit(value)
        known = parts.scheme in {"postgresql", "postgres", "sqlite"} and parts.port != 0 and value.isprintable()
        parsed: dict[str, object] = environ.Env.db_url_config(value.partition("?")[0]) if known else {}
    except (ValueError, ImproperlyConfigured):
        parsed = {}
    if parsed.get("NAME", ":memory:") in {"", ":memory:"}:
        message = (
            f"{name} is not a database URL. Write it as postgresql://user:password@host:5432/name or sqlite:////path."
        )
        raise ImproperlyConfigured(message)
    is_sqlite, parsed["HOST"] = parts.scheme == "sqlite", unquote(str(parsed["HOST"]))
    if flaw := _find_flaw_of_file(parts, str(parsed["NAME"])) if is_sqlite else _find_flaw_of_server(parts, parsed):
        raise ImproperlyConfigured(f"{name} {flaw}")
    options = dict(parse_qsl(parts.query))
    return parsed | ({"OPTIONS": options} if options else {}) | {"ENGINE": SQLITE if is_sqlite else POSTGRESQL}


def _find_flaw_of_file(parts: SplitResult, path: str) -> str:
    if parts.netloc or parts.query or parts.fragment:
        return "has more than the path of a SQLite file, which takes no host and no options. Write sqlite:////path."
    with suppress(OSError, ValueError):
        if Path(path).absolute().parent.is_dir() and (Path(path).is_file() or not Path(path).exists()):
            return ""
    return f"names {env.shown(path)}, which is no file in a folder that exists. Correct the path."


def _find_flaw_of_server(parts: SplitResult, found: dict[str, object]) -> str:
    hosts, ports = str(found["HOST"]).split(","), str(found["PORT"]).split(",")
    if parts.fragment or not all(host.startswith(("/", "@")) or is_host(host or "localhost") for host in hosts):
        return "names no host that can be reached. Write special characters of a password as %23 for `#` and the like."
    if not all(1 <= int(port or 5432) <= 65535 for port in ports):
        return "has a port that no server has. Set one from 1 to 65535."
    if not parts.query:
        return ""
    from config.environment.postgresql_options import find_flaw_of_options  # noqa: PLC0415 - loads PostgreSQL's client

    return find_flaw_of_options(parts.query)


def cache(name: str) -> str:
    """Returns the URL of a Redis such as `redis://:password@host:6379/0`; empty without one."""
    value = env.text(name)
    if not value:
        return ""
    import redis  # noqa: PLC0415 - a tenth of a second, for installations that use it

    with suppress(ValueError, TypeError, redis.RedisError):
        parts = urlsplit(value)
        is_right = parts.scheme in {"redis", "rediss"} and is_host(parts.hostname or "") and parts.port != 0
        is_number = not parts.path.strip("/") or parts.path[1:].isdecimal()
        if is_right and is_number and value.isprintable() and not parts.fragment:
            # Makes a connection, which reads all parts and options and asks nobody.
            redis.ConnectionPool.from_url(value).make_connection()
            return value
    message = f"{name} is not the URL of a Redis. Write it as redis://:password@host:6379/0 or rediss://host."
    raise ImproperlyConfigured(message)


def engine(name: str) -> None:
    """Checks the address of the container engine, which the engine's own library reads."""
    value = os.environ.get(name, "").strip()
    scheme, _, path = value.partition("://")
    is_right = scheme == "unix" and (not path or (path.startswith("/") and path.isprintable()))
    with suppress(ValueError):
        address = value if "://" in value else f"tcp://{value}"
        has_port = bool(urlsplit(address).port)
        is_right = is_right or (has_port and not find_flaw(address, ("tcp", "http", "https")))
    if value and not is_right:
        message = (
            f"{name} is {env.shown(value)}, which is no address of an engine. Set it to unix:///var/run/docker.sock "
            "or tcp://host:2376, or leave it out."
        )
        raise ImproperlyConfigured(message)


def mail(name: str) -> dict[str, object]:
    """Returns Django's EMAIL_* settings for a URL such as `smtp+tls://user:password@host:587`; empty without one."""
    value = env.text(name)
    if not value:
        return {}
    parsed: dict[str, object] = {}
    with suppress(ValueError):
        parts = urlsplit(value)
        is_right = parts.scheme in {"smtp", "smtp+tls", "smtps", "smtp+ssl"} and is_host(parts.hostname or "")
        is_whole = parts.port != 0 and bool(parts.username) == bool(parts.password)
        if is_right and is_whole and value.isprintable() and parts.path in {"", "/"} and not {"?", "#"} & set(value):
            parsed = environ.Env.email_url_config(value)
    if not parsed:
        message = (
            f"{name} is not the URL of a mail server. Write it as smtp+tls://user:password@host:587, with special "
            "characters of the password as %23 and the like."
        )
        raise ImproperlyConfigured(message)
    return parsed


def email(name: str, default: str = "", *, takes_name: bool = False) -> str:
    """Returns an email address, or with `takes_name` also `Name <address>`; empty without one."""
    value = env.text(name)
    if not value:
        return default
    parsed = getaddresses([value])
    address = parsed[0][1] if takes_name and len(parsed) == 1 else value
    try:
        EmailValidator(allowlist=["localhost"])(address)
        is_right = value.isprintable() and address.isascii()
    except ValidationError:
        is_right = False
    if not is_right:
        also = " or Berth <berth@example.org>" if takes_name else ""
        message = f"{name} is {env.shown(value)}. Set it to an email address such as berth@example.org{also}."
        raise ImproperlyConfigured(message)
    return value


def mail_domain(host: str) -> str:
    """Returns the host as the domain of an email address, which has addresses in brackets."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[IPv6:{address}]" if address.version == 6 else f"[{address}]"
