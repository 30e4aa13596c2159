"""The operations on projects. With the watcher, this is the only code that uses the database and the engine together.

Every operation claims the project, acts on the engine without an open transaction, and records the outcome with its
event under the claim's id, so that a slow loser can never overwrite the winner.
"""

from projects.services.commands.change import change_project
from projects.services.commands.clearing import clear_memory
from projects.services.commands.control import control_project
from projects.services.commands.creation import check_creation, create_project
from projects.services.commands.deletion import delete_project
from projects.services.commands.new_project import NewProject
from projects.services.commands.pairing import PairingLink, make_pairing_link
from projects.services.commands.suspension import lift_suspension, suspend_project
from projects.services.commands.update import ProjectChange, update_project

__all__ = [
    "NewProject",
    "PairingLink",
    "ProjectChange",
    "change_project",
    "check_creation",
    "clear_memory",
    "control_project",
    "create_project",
    "delete_project",
    "lift_suspension",
    "make_pairing_link",
    "suspend_project",
    "update_project",
]
