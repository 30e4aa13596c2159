"""Groups of related columns, as abstract models from which the tables are composed."""
