"""Alerts to owners about their agents, and to operators about the service."""
