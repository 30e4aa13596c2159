"""What calls cost and may cost: reserved on disk before a provider is asked, settled after."""
