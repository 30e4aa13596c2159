"""Images on the nodes: their names there, who has them, and how they get there."""
