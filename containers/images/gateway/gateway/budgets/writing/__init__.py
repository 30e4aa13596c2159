"""How changes reach the usage file: what waits for the disk, and what becomes of it if the disk fails."""
