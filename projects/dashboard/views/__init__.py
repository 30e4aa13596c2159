"""The pages, one module for each subject: they take a request apart, call a service, and render a template."""
