"""The one TLS context of all connections: each of its own would read all authorities again, for a megabyte."""

import ssl

import httpx

from assistant.config import Config


def make_tls(config: Config) -> ssl.SSLContext:
    """Trusts nobody where there is nothing to encrypt, as behind Berth's gateway."""
    if all(base.startswith("http:") for base in (config.telegram_base, config.api_base)):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context()
