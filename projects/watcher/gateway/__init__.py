"""Keeps the gateway at work, tells it what it has missed, and reads what it has counted and seen."""
