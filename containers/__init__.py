"""Engines that keep containers. Knows nothing of projects and users, and has no models."""
