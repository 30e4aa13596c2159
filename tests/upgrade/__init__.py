"""From the last release to this tree: an old server goes on while the new version migrates."""
