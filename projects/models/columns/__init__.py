"""Groups of columns that belong together: abstract models, of which a table is made."""
