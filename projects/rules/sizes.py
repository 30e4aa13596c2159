"""The unit in which plans and types count memory and disk."""

MIB = 1024 * 1024
"""Bytes of a mebibyte, which the columns and pages call MB."""
