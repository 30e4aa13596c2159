"""Long responses: followed logs and statuses, and waiting for a status."""
