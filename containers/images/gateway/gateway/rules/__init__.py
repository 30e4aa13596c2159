"""Who asks, what they may ask, and in what shape they are refused."""
