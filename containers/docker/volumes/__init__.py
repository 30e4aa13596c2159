"""Agents' volumes: their owners, sizes and limits, and how they are read and filled."""
