"""Parses the address of an installation, and decides whether a token may be sent there."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from berth_cli.errors import UsageError


def read_address(text: str, *, allows_http: bool) -> str:
    """Returns scheme, host and port. The scheme defaults to https. Raises `UsageError`."""
    typed = text.strip()
    wrong = UsageError(f"“{typed}” is not the address of an installation. Write it like https://berth.example.org.")
    try:
        parts = urlsplit(typed if "://" in typed else f"https://{typed}")
        port = parts.port
    except ValueError:
        raise wrong from None
    host = (parts.hostname or "").lower()
    is_clean = parts.path in {"", "/"} and not (parts.query or parts.fragment) and parts.username is None
    if parts.scheme not in {"http", "https"} or not is_clean or not _is_host(host):
        raise wrong
    _refuse_plain_text(parts, allows_http=allows_http)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port is not None else "")


def is_loopback(address: str) -> bool:
    """Returns whether the address is on this machine, so that nobody in between can listen and no proxy is used."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def name_of(address: str) -> str:
    """Returns host and port."""
    return urlsplit(address).netloc


def _refuse_plain_text(parts: SplitResult, *, allows_http: bool) -> None:
    if parts.scheme == "http" and not allows_http and not is_loopback(parts.geturl()):
        raise UsageError(
            f"Over plain http, anyone on the way to {parts.netloc} can read passwords and tokens. Use https, or add "
            "--insecure-http if you mean it."
        )


def _is_host(host: str) -> bool:
    return bool(host) and all(character.isalnum() or character in "-._:" for character in host)
