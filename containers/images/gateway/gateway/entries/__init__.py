"""What the control side has told about each project: on disk, encrypted, and in memory to look up."""
