"""Projects, the catalogue and related rows in the admin, which acts on projects only through the services."""

from projects.admin.projects import ProjectAdmin

__all__ = ["ProjectAdmin"]
