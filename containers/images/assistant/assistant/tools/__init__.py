"""What the model may do beside talking."""
