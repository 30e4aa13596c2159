"""How dates and times read in the admin, by language, where Django looks for that."""
