"""The database tables: projects, the catalogue, events, and state that the processes share."""

from projects.models.alert import AlertChannel, AlertDelivery, DeliveryState, Trouble
from projects.models.allowance import Allowance, find_offered_plan, plans_offered_to, plans_with_room, read_room
from projects.models.batch import Batch, BatchItem
from projects.models.catalogue import AgentType, Plan
from projects.models.event import Actor, Event
from projects.models.event_cursor import EventCursor
from projects.models.figures.run import Run
from projects.models.figures.sample import Sample
from projects.models.figures.tally import Tally
from projects.models.figures.usage import HourlyUsage, Spending
from projects.models.idempotency import IdempotencyRecord
from projects.models.installation import Installation
from projects.models.price import ModelPrice
from projects.models.processes.engine_host import EngineHost
from projects.models.processes.gateway import Gateway
from projects.models.processes.key_check import KeyCheck
from projects.models.processes.long_request import LongRequest
from projects.models.processes.service_trouble import ServiceTrouble
from projects.models.processes.watcher import Watch
from projects.models.project import Project
from projects.models.provider import Provider
from projects.models.quarantine import Quarantined

__all__ = [
    "Actor",
    "AgentType",
    "AlertChannel",
    "AlertDelivery",
    "Allowance",
    "Batch",
    "BatchItem",
    "DeliveryState",
    "EngineHost",
    "Event",
    "EventCursor",
    "Gateway",
    "HourlyUsage",
    "IdempotencyRecord",
    "Installation",
    "KeyCheck",
    "LongRequest",
    "ModelPrice",
    "Plan",
    "Project",
    "Provider",
    "Quarantined",
    "Run",
    "Sample",
    "ServiceTrouble",
    "Spending",
    "Tally",
    "Trouble",
    "Watch",
    "find_offered_plan",
    "plans_offered_to",
    "plans_with_room",
    "read_room",
]
