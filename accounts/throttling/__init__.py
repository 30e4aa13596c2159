"""How often something may be asked or tried, counted for all processes together."""
