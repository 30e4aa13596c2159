"""The entries that the control side has sent for each project: on disk, encrypted, and in memory for look-ups."""
