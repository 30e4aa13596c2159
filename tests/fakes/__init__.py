"""Fakes of external services: real HTTP servers, each on a port of its own, whose failures a test sets."""
