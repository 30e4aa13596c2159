"""The frame of the whole service: settings, routes, middleware, errors, logs and processes."""
