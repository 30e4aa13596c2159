"""What every page may show of the service itself."""
