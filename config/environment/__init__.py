"""Reads the environment: typed readers, the URLs of servers, and keys on disk."""
