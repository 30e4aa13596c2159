from projects.models.canary import Canary
from projects.models.catalogue import AgentType, Plan
from projects.models.event import Actor, Event
from projects.models.idempotency import IdempotencyRecord
from projects.models.project import Project
from projects.models.slot import Slot
from projects.models.watch import Watch

__all__ = ["Actor", "AgentType", "Canary", "Event", "IdempotencyRecord", "Plan", "Project", "Slot", "Watch"]
