"""The TLS context that all connections share, because each context loads all certificate authorities (1 MB)."""

import ssl

import httpx

from assistant.config import Config


def make_tls(config: Config) -> ssl.SSLContext:
    """Returns a context that trusts no authority if nothing is encrypted, as behind Berth's gateway."""
    if all(base.startswith("http:") for base in (config.telegram_base, config.api_base)):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context()
