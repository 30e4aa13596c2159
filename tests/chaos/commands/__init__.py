"""Backups, restores, upgrades and migrations that break off at any change."""
