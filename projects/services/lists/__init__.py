"""Which projects a list has, in which order, and its pages."""
