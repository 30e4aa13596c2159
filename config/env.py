"""Typed readers of the environment. Every variable NAME may instead be given as NAME_FILE, the path of a file.

A value that is not valid raises `ImproperlyConfigured` with one sentence that names the variable.
"""

import os
import re
from contextlib import suppress
from decimal import Decimal
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

SQLITE, POSTGRESQL = "config.database.sqlite", "config.database.postgresql"
"""Django's backends with our limits."""


def text(name: str, default: str = "") -> str:
    """Returns the value as written, without spaces around it. No character is special, a dollar sign neither."""
    value, path = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if value and path:
        message = f"{name} and {name}_FILE are both set. Keep one of them."
        raise ImproperlyConfigured(message)
    if not path:
        return value.strip() or default
    try:
        return Path(path).read_text(encoding="utf-8").strip() or default
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        message = f"{name}_FILE names a file that cannot be read ({reason}). Correct the path or its permissions."
        raise ImproperlyConfigured(message) from None


def choice(name: str, options: tuple[str, ...], default: str) -> str:
    value = text(name, default).lower()
    if value not in options:
        message = f"{name} is {value!r}. Set it to one of: {', '.join(options)}."
        raise ImproperlyConfigured(message)
    return value


def switch(name: str, *, default: bool) -> bool:
    return choice(name, ("on", "off"), "on" if default else "off") == "on"


def number(name: str, default: int, *, low: int, high: int) -> int:
    raw = text(name, str(default))
    if not raw.isdecimal() or not low <= int(raw) <= high:
        message = f"{name} is {raw!r}. Set it to a whole number from {low} to {high}."
        raise ImproperlyConfigured(message)
    return int(raw)


def factor(name: str, default: str, *, low: Decimal, high: Decimal) -> Decimal:
    """Returns a number such as `4` or `1.5`."""
    raw = text(name, default)
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", raw) or not low <= Decimal(raw) <= high:
        message = f"{name} is {raw!r}. Set it to a number from {low} to {high}, such as {default} or 1.5."
        raise ImproperlyConfigured(message)
    return Decimal(raw)


def url(name: str, schemes: tuple[str, ...], default: str = "") -> str:
    value = text(name, default)
    if value and not _is_url(value, schemes):
        starts = " or ".join(f"{scheme}://" for scheme in schemes)
        message = f"{name} is not a URL that starts with {starts} and names a host. Correct it."
        raise ImproperlyConfigured(message)
    return value.rstrip("/")


def _is_url(value: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_any_address(host: str) -> bool:
    """Whether `host` stands for every address of the machine, as 0.0.0.0 and :: do."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def local_url(host: str, port: int) -> str:
    """Returns the URL by which clients on this machine reach a server that listens on `host`."""
    name = "localhost" if is_any_address(host) else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def words(name: str) -> list[str]:
    return [word.strip() for word in text(name).split(",") if word.strip()]


def origins(name: str) -> list[str]:
    """Origins of pages, as browsers send them: `https://app.example.org`, without a path."""
    found = words(name)
    for origin in found:
        if "*" in origin or not _is_url(origin, ("http", "https")) or origin != _origin_of(origin):
            raise ImproperlyConfigured(
                f"{name} holds something that is no origin. Set origins such as https://app.example.org, in lower "
                "case, without a path or a usual port, with commas in between."
            )
    return found


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port not in {None, usual} else "")


def networks(name: str) -> list[tuple[str, int | None]]:
    """Reads comma-separated networks, each with an optional port: `10.0.0.5/32:8080`, `[fd00::5/128]:8080`."""
    return [_network(name, word) for word in words(name)]


def _network(name: str, word: str) -> tuple[str, int | None]:
    address, port = word, ""
    if word.startswith("["):
        address, _, port = word[1:].partition("]")
        port = port.removeprefix(":")
    elif word.count(":") == 1:
        address, _, port = word.partition(":")
    try:
        network = str(ip_network(address, strict=False))
        wanted = int(port) if port else None
    except ValueError:
        wanted = 0
    if wanted is not None and not 1 <= wanted <= 65535:
        message = f"{name} holds {word!r}, which is not a network. Write it as 10.0.0.5/32 or 10.0.0.5/32:8080."
        raise ImproperlyConfigured(message)
    return network, wanted


def name_servers(name: str) -> list[str]:
    """Reads comma-separated addresses. A loopback address is refused: it would be the agent's own, or the engine's."""
    return [_name_server(name, word) for word in words(name)]


def _name_server(name: str, word: str) -> str:
    with suppress(ValueError):
        address = ip_address(word)
        plain = getattr(address, "ipv4_mapped", None) or address
        if not (plain.is_loopback or plain.is_unspecified or plain.is_multicast or "%" in word):
            return str(plain)
    message = f"{name} holds {word!r}, which is no name server that agents can reach. Write it as 9.9.9.9,2620:fe::fe."
    raise ImproperlyConfigured(message)


def database(name: str, default: Path) -> dict[str, object]:
    """Returns Django's settings for the database of the URL, or for the SQLite file `default` without one."""
    value = text(name)
    if not value:
        return {"ENGINE": SQLITE, "NAME": str(default)}
    try:
        # The library prints a URL with an unknown scheme, password included, as a warning.
        known = urlsplit(value).scheme in {"postgresql", "postgres", "sqlite"}
        parsed: dict[str, object] = environ.Env.db_url_config(value) if known else {}
    except (ValueError, ImproperlyConfigured):
        parsed = {}
    if parsed.get("NAME", ":memory:") in {"", ":memory:"}:
        message = (
            f"{name} is not a database URL. Write it as postgresql://user:password@host:5432/name or sqlite:////path."
        )
        raise ImproperlyConfigured(message)
    return parsed | {"ENGINE": SQLITE if urlsplit(value).scheme == "sqlite" else POSTGRESQL}


def mail(name: str) -> dict[str, object]:
    """Returns Django's EMAIL_* settings for a URL such as `smtp+tls://user:password@host:587`; empty without one."""
    value = text(name)
    if not value:
        return {}
    parsed: dict[str, object] = {}
    if urlsplit(value).scheme in {"smtp", "smtp+tls", "smtps", "smtp+ssl"} and urlsplit(value).hostname:
        with suppress(ValueError):
            parsed = environ.Env.email_url_config(value)
    if not parsed:
        message = f"{name} is not the URL of a mail server. Write it as smtp+tls://user:password@host:587."
        raise ImproperlyConfigured(message)
    return parsed
