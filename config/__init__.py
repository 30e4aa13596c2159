"""What the whole service is made of: settings, routes, errors and processes."""
