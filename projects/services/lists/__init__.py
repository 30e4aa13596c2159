"""Lists of projects: filters, order and pages."""
