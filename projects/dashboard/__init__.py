"""The pages on which owners see their projects and act on them."""
