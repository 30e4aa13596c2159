"""A Docker engine that fails, restarts, has a full disk, or answers wrongly."""
