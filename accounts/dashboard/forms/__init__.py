"""The forms of the account pages. They validate input; the services decide."""
