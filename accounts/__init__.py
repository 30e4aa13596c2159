"""People, and what proves who they are."""
