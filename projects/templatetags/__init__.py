"""What templates ask of projects."""
