"""Telegram, a provider, a name server, Redis and a mail server that are slow, against the real web server."""
