"""English is the one language that there is."""
