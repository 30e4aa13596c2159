"""Keeps the gateway running, tells it what it has missed, and reads what it has counted and seen."""
