"""Berth's command line for people: what is typed in a terminal becomes calls of the API."""

VERSION = "1.3"
"""Of this program, and not of the service: strangers may fetch it. Raise it with each change that people notice."""
