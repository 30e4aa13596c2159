"""Runs Hermes (PyPI hermes-agent) as an agent of Berth: writes its configuration from the contract and starts it."""
