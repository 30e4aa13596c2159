"""Keeps agents away from this host and from private networks. Knows nothing about Docker's API."""
