"""Addresses to which agents may not send packets: all outside the public internet, and cloud metadata services.

The source is IANA's two registries of special-purpose addresses. Addresses that they do not call globally reachable are
refused, and so are multicast and obsolete forms of IPv4 addresses (RFC 4291, RFC 2765).
(https://www.iana.org/assignments/iana-ipv4-special-registry, …/iana-ipv6-special-registry)
"""

from ipaddress import IPv6Address, ip_network

_PRIVATE_NETWORKS_4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private
    "100.64.0.0/10",  # shared by a carrier's customers (CGNAT)
    "127.0.0.0/8",  # loopback
    "168.63.129.16/32",  # Azure's metadata (WireServer), at an address like those of the internet
    "169.254.0.0/16",  # link-local; cloud metadata lives there
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # protocol assignments; another cloud's metadata
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relays, which no longer exist
    "192.168.0.0/16",  # private
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/3",  # multicast, reserved, broadcast
)
TRANSLATED = ip_network("64:ff9b::/96")
"""Through this prefix a translator (NAT64) reaches any IPv4 address, including the refused ones."""


def _translate(network: str) -> str:
    """Returns the IPv6 addresses by which a translator reaches this IPv4 network."""
    inner = ip_network(network)
    first = IPv6Address(int(TRANSLATED.network_address) + int(inner.network_address))
    return f"{first}/{TRANSLATED.prefixlen + inner.prefixlen}"


PRIVATE_NETWORKS = {
    4: _PRIVATE_NETWORKS_4,
    6: (
        "::/96",  # unspecified, loopback, and IPv4 in IPv6 as it was once
        "::ffff:0:0/96",  # IPv4 in IPv6
        "::ffff:0:0:0/96",  # IPv4 behind a translator (SIIT)
        "64:ff9b:1::/48",  # translators of private networks
        *map(_translate, _PRIVATE_NETWORKS_4),
        "100::/64",  # discarded
        "100:0:0:1::/64",  # dummy addresses
        "2001::/23",  # protocol assignments: Teredo, benchmarks, identifiers
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which leads to any IPv4 address
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # private
        "fe80::/10",  # link-local
        "fec0::/10",  # private until 2004
        "ff00::/8",  # multicast
    ),
}

_PUBLIC_NETWORKS_4 = ("192.0.0.9/32", "192.0.0.10/32")
PUBLIC_NETWORKS = {
    4: _PUBLIC_NETWORKS_4,
    6: (
        *map(_translate, _PUBLIC_NETWORKS_4),
        "2001:1::1/128",
        "2001:1::2/128",
        "2001:1::3/128",
        "2001:3::/32",
        "2001:4:112::/48",
        "2001:20::/28",
        "2001:30::/28",
    ),
}
"""Globally reachable parts of networks that are not, according to the registries. They are not refused."""
