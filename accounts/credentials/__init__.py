"""Formats and checks of credentials: API keys, tokens, codes and passwords."""
