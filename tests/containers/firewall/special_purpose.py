"""IANA's registries of special-purpose addresses: each block, and whether it is globally reachable.

Copied row by row from https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry.
"N/A" stands there for blocks that have been given back or whose reachability depends on what they lead to: False here.
"""

REGISTRY: dict[str, bool] = {
    "0.0.0.0/8": False,
    "0.0.0.0/32": False,
    "10.0.0.0/8": False,
    "100.64.0.0/10": False,
    "127.0.0.0/8": False,
    "169.254.0.0/16": False,
    "172.16.0.0/12": False,
    "192.0.0.0/24": False,
    "192.0.0.0/29": False,
    "192.0.0.8/32": False,
    "192.0.0.9/32": True,
    "192.0.0.10/32": True,
    "192.0.0.170/32": False,
    "192.0.0.171/32": False,
    "192.0.2.0/24": False,
    "192.31.196.0/24": True,
    "192.52.193.0/24": True,
    "192.88.99.0/24": False,
    "192.88.99.2/32": False,
    "192.168.0.0/16": False,
    "192.175.48.0/24": True,
    "198.18.0.0/15": False,
    "198.51.100.0/24": False,
    "203.0.113.0/24": False,
    "240.0.0.0/4": False,
    "255.255.255.255/32": False,
    "::1/128": False,
    "::/128": False,
    "::ffff:0:0/96": False,
    "64:ff9b::/96": True,
    "64:ff9b:1::/48": False,
    "100::/64": False,
    "100:0:0:1::/64": False,
    "2001::/23": False,
    "2001::/32": False,
    "2001:1::1/128": True,
    "2001:1::2/128": True,
    "2001:1::3/128": True,
    "2001:2::/48": False,
    "2001:3::/32": True,
    "2001:4:112::/48": True,
    "2001:10::/28": False,
    "2001:20::/28": True,
    "2001:30::/28": True,
    "2001:db8::/32": False,
    "2002::/16": False,
    "2620:4f:8000::/48": True,
    "3fff::/20": False,
    "5f00::/16": False,
    "fc00::/7": False,
    "fe80::/10": False,
}
MULTICAST = {"224.0.0.0/4": False, "ff00::/8": False}
"""Multicast has registries of its own."""

ORDINARY = {
    "1.1.1.1/32": True,
    "149.154.160.0/20": True,
    "192.0.1.1/32": True,
    "2001:4860::/32": True,
    "2a00::/12": True,
}
"""Addresses of the public internet."""

CLOUDS = {"168.63.129.16/32": False}
"""Addresses at which clouds serve metadata to their machines, and which are in no registry."""

FORMER = {"::/96": False, "::ffff:0:0:0/96": False}
"""IPv4 addresses written as IPv6 ones (RFC 4291, 2.5.5.1; RFC 2765, 2.1), which the registry no longer lists."""
