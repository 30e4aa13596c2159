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

from django.core.exceptions import ImproperlyConfigured

LONGEST_SHOWN = 60
"""Characters of a wrong value that a message repeats."""

_HOST_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_-]{1,63})*\.?")


def text(name: str, default: str = "") -> str:
    """Returns the value as written, without surrounding spaces. No character is special, not even a dollar sign."""
    value, path = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if value and path:
        message = f"{name} and {name}_FILE are both set. Keep one of them."
        raise ImproperlyConfigured(message)
    if not path:
        return _decodable(name, value).strip() or default
    try:
        return Path(path).read_text(encoding="utf-8").strip() or default
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        message = f"{name}_FILE names a file that cannot be read ({reason}). Correct the path or its permissions."
        raise ImproperlyConfigured(message) from None


def _decodable(name: str, value: str) -> str:
    """Returns the value. Python has replaced each byte that is not UTF-8 by half of a surrogate pair."""
    if value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value):
        return value
    message = f"{name} is not text in UTF-8. Correct it."
    raise ImproperlyConfigured(message)


def shown(value: str) -> str:
    """Returns the value in quotes on one line, shortened, for a message."""
    return repr(value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…")


def choice(name: str, options: tuple[str, ...], default: str) -> str:
    value = text(name, default).lower()
    if value not in options:
        message = f"{name} is {shown(value)}. Set it to one of: {', '.join(options)}."
        raise ImproperlyConfigured(message)
    return value


def switch(name: str, *, default: bool) -> bool:
    return choice(name, ("on", "off"), "on" if default else "off") == "on"


def number(name: str, default: int, *, low: int, high: int) -> int:
    raw = text(name, str(default))
    if not re.fullmatch(r"[0-9]{1,12}", raw) or not low <= int(raw) <= high:
        message = f"{name} is {shown(raw)}. Set it to a whole number from {low} to {high}."
        raise ImproperlyConfigured(message)
    return int(raw)


def factor(name: str, default: str, *, low: Decimal, high: Decimal) -> Decimal:
    """Reads a number such as `4` or `1.5`."""
    raw = text(name, default)
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", raw) or not low <= Decimal(raw) <= high:
        message = f"{name} is {shown(raw)}. Set it to a number from {low} to {high}, such as {default} or 1.5."
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


def host(name: str, default: str) -> str:
    """Returns an address, without brackets, or a host name."""
    value = text(name, default)
    with suppress(ValueError):
        return str(ip_address(value))
    if not _HOST_NAME.fullmatch(value):
        message = f"{name} is {shown(value)}. Set it to an address or a host name, without a scheme and a port."
        raise ImproperlyConfigured(message)
    return value


def directory(name: str, default: Path) -> Path:
    """Returns an absolute path. `~` is the home directory of the user whom the process runs as."""
    value = text(name)
    try:
        return Path(value or default).expanduser().absolute()
    except RuntimeError:
        message = f"{name} is {shown(value)}, and nobody has that home directory. Write the whole path."
        raise ImproperlyConfigured(message) from None


def is_any_address(host: str) -> bool:
    """Returns whether `host` means every address of the machine, as 0.0.0.0 and :: do."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Returns whether only programs on this machine can reach `host`."""
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
    """Reads origins of pages, as browsers send them: `https://app.example.org`, without a path."""
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
        message = f"{name} holds {shown(word)}, which is not a network. Write it as 10.0.0.5/32 or 10.0.0.5/32:8080."
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
    message = (
        f"{name} holds {shown(word)}, which is no name server that agents can reach. Write it as 9.9.9.9,2620:fe::fe."
    )
    raise ImproperlyConfigured(message)
