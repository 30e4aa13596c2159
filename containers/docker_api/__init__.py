"""Speaks the API of a Docker engine. The only room that imports docker."""
