"""Invalid email addresses, made of hostile local parts and hostile domains."""

from itertools import product

CJK, LIGATURE, LONG = "\u6f22", "\ufdfa", "x" * 64

NAMES = {
    "plain": "x",
    "too long": LONG + "x",
    "as long as it may be": LONG,
    "empty": "",
    "quoted": '"a b"',
    "dots": "a..b",
    "a letter of another script": "\u00fc",
    "a half pair": "\ud800",
    "zero": "a\x00b",
    "a new line": "a\nBcc: victim@example.org\n",
    "a carriage return": "a\rb",
    "a header": "=?utf-8?q?a=0AB?=",
    "brackets": "<script>alert(1)</script>",
    "a full-width at": "victim\uff20example.org",
    "a ligature that grows": LIGATURE * 14,
    "a Kelvin sign": "\u212a",
    "a change of direction": "\u202egro",
    "an emoji": "\U0001f600",
    "commas": "a,b",
    "an encoded zero": "%00",
}

DOMAINS = {
    "plain": "example.org",
    "60 CJK letters": CJK * 60 + ".org",
    "63 CJK letters": CJK * 63 + ".org",
    "many CJK labels": f"{CJK * 15}." * 15 + "org",
    "empty label": "example..org",
    "long label": "x" * 64 + ".org",
    "long domain": "x." * 124 + "org",
    "nothing": "",
    "dot": ".",
    "dash": "-example-.org",
    "umlaut": "b\u00fccher.example",
    "sharp s": "stra\u00dfe.example",
    "prefix of punycode": "xn--.org",
    "broken punycode": "xn--\u00fc.org",
    "too much punycode": "xn--" + "a" * 59 + ".org",
    "an ideographic full stop": "example\u3002org",
    "a full-width dot": "example\uff0eorg",
    "a soft hyphen": "exam\u00adple.org",
    "a zero-width joiner": "exam\u200dple.org",
    "only soft hyphens": "\u00ad\u00ad.org",
    "a half pair": "exam\udfffple.org",
    "an address": "[127.0.0.1]",
    "no address": "[::::1]",
    "a new line": "example.org\n",
    "zero": "example.org\x00",
    "spaces": "exa mple.org",
    "right to left": "\u05d0" * 60 + ".org",
    "mixed directions": "\u05d0a\u0661.org",
    "a ligature that grows": LIGATURE * 10 + ".org",
    "an emoji": "\U0001f600" * 20 + ".org",
}

OF_THIS_MACHINE = [
    "localhost", "LOCALHOST", "localhost.", "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3", "mail.localhost",
    "[127.0.0.1]", "[::1]", "[IPv6:::1]", "[IPv6:::ffff:127.0.0.1]", "[10.0.0.1]", "[169.254.169.254]", "127.0.0.1",
    "127.1", "0x7f.1", "\uff3b127.0.0.1\uff3d",
]  # fmt: skip

WHOLE = ["", "@", "@@", "x", "x@", "x" * 254, "x" * 100_000, "@".join(["x"] * 200), "\x00", "a@b@c.org", " @ . "]

HOSTILE_EMAILS = sorted({*(f"{name}@{domain}" for name, domain in product(NAMES.values(), DOMAINS.values())), *WHOLE})

# One part of each address is hostile, and the other one is ordinary.
FEW = sorted(
    {*(f"{name}@example.org" for name in NAMES.values()), *(f"x@{domain}" for domain in DOMAINS.values()), *WHOLE}
)
