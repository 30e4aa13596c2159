"""What a dashboard session holds, and whether it is still valid."""
