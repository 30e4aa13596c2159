"""What users can do: sign in, sign up, and manage API keys and a second factor."""
