"""Calls to other servers: limited in time and size, and with answers that are checked."""
