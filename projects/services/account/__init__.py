"""All that belongs to one account: taken along by its owner, and deleted with it."""
