"""Groups of columns that belong together, as abstract models of which a table is made, and what follows from them."""
