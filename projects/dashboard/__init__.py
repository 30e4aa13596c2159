"""The pages on which owners see and control their projects."""
