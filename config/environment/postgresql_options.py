"""Finds out before a server is asked whether PostgreSQL's client understands the options of a database's URL."""

from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl

from psycopg import pq

NUMBERS = frozenset(
    {"connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"}
)
"""The client reads these only when it connects over TCP."""

FILES = frozenset({"passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl"})
"""Files that the client leaves out without a word if they are missing."""

IN_THE_URL_ITSELF = frozenset({"dbname", "user", "password", "port", "client_encoding", "fallback_application_name"})
OF_DJANGO = frozenset({"assume_role"})

_NOWHERE = "/dev/null/no-server-is-there"
"""The folder of a socket that cannot exist, so that the client gives up as soon as it has read the options."""


def find_flaw_of_options(query: str) -> str:
    """Returns why the options cannot work, for a sentence that begins with the variable's name; empty if they can."""
    try:
        found = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError:
        return "has options that are not written as ?name=value&name=value. Correct them."
    options = dict(found)
    known = {each.keyword.decode() for each in pq.Conninfo.get_defaults()} | OF_DJANGO
    if unknown := sorted(options.keys() - (known - IN_THE_URL_ITSELF)):
        return f"has the option {unknown[0][:40]!r}, which cannot be set there. Remove it or correct its name."
    if len(options) != len(found):
        return "has an option twice. Remove one of them."
    flaw = next(filter(None, map(_find_flaw, options, options.values())), "") or _ask_client(options)
    return f"has an option with a value that cannot be used ({flaw}). Correct it." if flaw else ""


def _find_flaw(name: str, value: str) -> str:
    if not value.isprintable() or not value:
        return f"{name} is empty or not printable"
    if name in NUMBERS and not (value.isascii() and value.isdecimal() and len(value) <= 9):
        return f"{name} is not a whole number"
    if name in FILES and not (name == "sslrootcert" and value == "system") and not Path(value).is_file():
        return f"{name} names no file"
    if name == "hostaddr" and not all(map(is_address, value.split(","))):
        return f"{name} is not an address"
    return ""


def is_address(value: str) -> bool:
    try:
        return bool(ip_address(value))
    except ValueError:
        return False


def _ask_client(options: dict[str, str]) -> str:
    """Returns what the client says against the options before it looks for the server; empty if nothing."""
    given = {name: value for name, value in options.items() if name not in NUMBERS | OF_DJANGO | {"host", "hostaddr"}}
    quoted = {name: value.replace("\\", r"\\").replace("'", r"\'") for name, value in given.items()}
    conninfo = " ".join(f"{name}='{value}'" for name, value in {**quoted, "host": _NOWHERE}.items())
    trial = pq.PGconn.connect_start(conninfo.encode())
    message = trial.error_message.decode(errors="replace").strip()
    trial.finish()
    return "" if _NOWHERE in message else message.partition("\n")[0][:150]
