"""Projects, the catalogue and what belongs to them in the admin. It acts on projects through the services only."""

from projects.admin.projects import ProjectAdmin

__all__ = ["ProjectAdmin"]
