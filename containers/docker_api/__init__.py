"""Speaks the API of a Docker engine. No other package imports docker."""
