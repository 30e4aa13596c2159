"""Berth's command line, which translates commands typed in a terminal into calls of the API."""

VERSION = "1.6"
"""The version of this program, not of the service, because strangers may download it. Raise it with each visible
change."""
