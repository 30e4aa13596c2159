"""Processes of the service that are killed, and clocks that step."""
