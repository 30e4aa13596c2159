"""Shapes on the wire: what the API accepts, and what it answers."""
