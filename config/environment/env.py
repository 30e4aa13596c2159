"""Typed readers of the environment. Every variable NAME may instead be given as NAME_FILE, the path of a file.

A value that is not valid raises `ImproperlyConfigured` with one sentence that names the variable.
"""

import errno
import os
import re
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.environment.small_files import read_small

LONGEST_FILE = 1024 * 1024
"""Bytes of a file with a value."""

LONGEST_SHOWN = 60
"""Characters of a wrong value that a message repeats."""


def text(name: str, default: str = "") -> str:
    """Returns the value as written, without surrounding spaces. No character is special, not even a dollar sign."""
    value, path = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if value and path:
        message = f"{name} and {name}_FILE are both set. Keep one of them."
        raise ImproperlyConfigured(message)
    if not path:
        return _decodable(name, value).strip() or default
    try:
        return _read_file(path).strip() or default
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        message = f"{name}_FILE names a file that cannot be read ({reason}). Correct the path or its permissions."
        raise ImproperlyConfigured(message) from None


def _read_file(path: str) -> str:
    """Returns the text of the file, which may also be a pipe of a program that prints it.

    Raises `OSError` or `UnicodeDecodeError`. UTF-16 is no text here: half of its bytes are null bytes.
    """
    content = read_small(Path(path), most=LONGEST_FILE)
    if len(content) > LONGEST_FILE:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    if b"\0" in content:
        raise UnicodeDecodeError("utf-8", content, 0, 1, "null byte")
    return content.decode()


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


def pattern(name: str, shape: str, advice: str, default: str = "") -> str:
    """Returns a value of this shape, or an empty one. `advice` is a sentence that says what to set."""
    value = text(name, default)
    if value and not re.fullmatch(shape, value):
        message = f"{name} is {shown(value)}. {advice}"
        raise ImproperlyConfigured(message)
    return value
