"""Hosts as staff may write them, and as the gateway gets them."""

HOSTS = {
    "api.example.com": "api.example.com",
    "  API.Example.COM:443 ": "api.example.com",
    "api.example.com:8443": "api.example.com:8443",
    "bücher.example": "xn--bcher-kva.example",
    "xn--bcher-kva.example:80": "xn--bcher-kva.example:80",
    "例え.テスト": "xn--r8jz45g.xn--zckzah",
    "a-b.c1.example": "a-b.c1.example",
}
