"""Runs nanobot (PyPI nanobot-ai) as an agent of Berth: writes its configuration from the contract and starts it."""
