"""Measures agents on the node that the gateway runs on."""
