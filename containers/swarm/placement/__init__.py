"""Where agents may run, where there is room for them, and where they are."""
