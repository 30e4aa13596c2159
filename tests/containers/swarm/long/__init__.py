"""What takes minutes on real nodes, and is run by hand."""
