"""The views under /api: each validates, calls one service, and serializes."""
