"""Placeholder until the admin of users and keys."""
