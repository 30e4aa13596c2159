"""Typed readers of the environment for addresses: URLs, hosts, networks.

Like those of `config.environment.env`, they refuse a value that cannot work with one sentence that names the variable.
"""

import re
from contextlib import suppress
from ipaddress import IPv4Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.environment.env import shown, text, words

_HOST_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_-]{1,63})*")
_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:%/-]*")
"""Leaves out `@`, which a URL may have here, because some programs would read a login before it."""
_NETWORK = re.compile(
    r"\[(?P<bracketed>[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?)\](?::(?P<behind>[0-9]{1,5}))?"
    r"|(?P<four>[0-9.]+(?:/[0-9.]+)?)(?::(?P<port>[0-9]{1,5}))?"
    r"|(?P<six>[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?)"
)


def is_host(value: str) -> bool:
    """Returns whether clients can look the value up: an address without brackets, or a name in ASCII."""
    with suppress(ValueError):
        return "%" not in value and bool(ip_address(value))
    # Programs read a name whose last part is a number as an address.
    return bool(_HOST_NAME.fullmatch(value)) and not value.rpartition(".")[2].isdecimal()


def host(name: str, default: str) -> str:
    """Returns an address, without brackets, or a host name."""
    value = text(name, default)
    with suppress(ValueError):
        return str(ip_address(value))
    if not is_host(value.removesuffix(".")):
        message = f"{name} is {shown(value)}. Set it to an address or a host name, without a scheme and a port."
        raise ImproperlyConfigured(message)
    return value


def hosts(name: str) -> list[str]:
    """Reads host names as requests send them, without a port. `.example.org` stands for all names below, too."""
    found = [word.lower() for word in words(name)]
    for word in found:
        bracketed = re.fullmatch(r"\[([0-9a-f:.]+)\]", word)
        is_right = ":" in bracketed[1] and is_host(bracketed[1]) if bracketed else ":" not in word
        if word != "*" and not (is_right and (bracketed or is_host(word.removeprefix(".")))):
            message = (
                f"{name} holds {shown(word)}, which is no host name. Write names without a scheme, a port and a path, "
                "such as berth.example.org,[2001:db8::5], with `.example.org` for all names below it."
            )
            raise ImproperlyConfigured(message)
    return found


def url(name: str, schemes: tuple[str, ...], default: str = "", *, takes_path: bool = True) -> str:
    """Returns a URL without a slash at its end."""
    value = text(name, default)
    flaw = find_flaw(value, schemes, takes_path=takes_path) if value else ""
    if flaw:
        raise ImproperlyConfigured(f"{name} {flaw}")
    return value.rstrip("/")


def find_flaw(value: str, schemes: tuple[str, ...], *, takes_path: bool = True) -> str:
    """Returns why this is no plain URL, for a sentence that begins with its name; empty for a plain one.

    The sentence does not repeat the value, which may hold a password.
    """
    starts = " or ".join(f"{scheme}://" for scheme in schemes)
    parts = _split(value)
    if parts is None or parts.scheme not in schemes or not parts.netloc:
        return f"is not a URL that starts with {starts} and names a host. Correct it."
    if "@" in parts.netloc:
        return "holds a user or a password. Leave them out."
    if "?" in value or "#" in value:
        return "has a query or a fragment. Leave out what begins with `?` or `#`."
    if not is_host(parts.hostname or "") or parts.port == 0 or parts.netloc.endswith(":"):
        return "names no host and port that clients can reach. Write them as https://host.example.org:8443, in ASCII."
    if not takes_path and parts.path not in {"", "/"}:
        return "has a path. Berth is served at the root of a host of its own: leave the path out."
    return "" if _PATH.fullmatch(parts.path) else "has characters that no URL has. Write them as %20 and the like."


def _split(value: str) -> SplitResult | None:
    """Returns the parts of a URL without spaces, which the library would leave out."""
    try:
        parts = urlsplit(value)
        is_whole = value.isprintable() and " " not in value and parts.port != -1
    except ValueError:
        return None
    return parts if is_whole else None


def origins(name: str) -> list[str]:
    """Reads origins of pages, as browsers send them: `https://app.example.org`, without a path."""
    found = words(name)
    for origin in found:
        if find_flaw(origin, ("http", "https")) or origin != origin_of(origin):
            raise ImproperlyConfigured(
                f"{name} holds something that is no origin. Set origins such as https://app.example.org, in lower "
                "case, without a path or a usual port, with commas in between."
            )
    return found


def origin_of(url: str) -> str:
    """Returns the origin that browsers send for pages of this URL."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{bracketed(parts.hostname or '')}" + (
        f":{parts.port}" if parts.port not in {None, usual} else ""
    )


def bracketed(host: str) -> str:
    """Returns the host as URLs and the header `Host` write it."""
    return f"[{host}]" if ":" in host else host


def networks(name: str) -> list[tuple[str, int | None]]:
    """Reads comma-separated networks, each with an optional port: `10.0.0.5/32:8080`, `[fd00::5/128]:8080`."""
    return [_network(name, word) for word in words(name)]


def _network(name: str, word: str) -> tuple[str, int | None]:
    found = _NETWORK.fullmatch(word)
    with suppress(ValueError):
        if found is not None:
            network = str(ip_network(found["bracketed"] or found["four"] or found["six"], strict=False))
            port = found["behind"] or found["port"]
            if port is None or 1 <= int(port) <= 65535:
                return network, int(port) if port else None
    message = f"{name} holds {shown(word)}, which is not a network. Write it as 10.0.0.5/32 or 10.0.0.5/32:8080."
    raise ImproperlyConfigured(message)


def subnet(name: str, default: str) -> str:
    """Returns an IPv4 network of /20 to /25 for agents: none of the internet, and none that routers drop."""
    value = text(name, default)
    with suppress(ValueError):
        found = IPv4Network(value)
        is_usable = not (
            found.is_global or found.is_multicast or found.is_reserved or found.network_address.packed[0] == 0
        )
        if is_usable and not (found.is_loopback or found.is_link_local) and 20 <= found.prefixlen <= 25:
            return value
    message = f"{name} is {shown(value)}. Set it to a private IPv4 network of /20 to /25, such as {default}."
    raise ImproperlyConfigured(message)


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


def registry(name: str) -> str:
    """Reads a registry as image names begin with it: `registry.example.org:5000`, perhaps with a path below it."""
    value = text(name)
    place, slash, path = value.partition("/")
    is_right = re.search(r"[.:]|^localhost$", place) and not find_flaw(f"https://{place}", ("https",))
    if value and not (is_right and re.fullmatch(r"(/[a-z0-9]+([._-]+[a-z0-9]+)*)*", slash + path)):
        message = f"{name} is {shown(value)}. Set it to host:port, such as registry.example.org:5000, without a scheme."
        raise ImproperlyConfigured(message)
    return value
