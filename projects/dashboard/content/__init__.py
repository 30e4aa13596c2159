"""What pages show, apart from how they are asked for: rows, curves, cards and steps."""
