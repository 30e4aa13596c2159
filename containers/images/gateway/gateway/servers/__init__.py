"""Servers of tools and of searches, asked with credentials that their agents do not have."""
