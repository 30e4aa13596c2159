"""Read from a provider's answer, as it passes, what it has cost."""
