"""The tables: projects, the catalogue, events, and what the processes share."""

from projects.models.alert import AlertChannel, AlertDelivery, DeliveryState, Trouble
from projects.models.allowance import Allowance, find_offered_plan, plans_offered_to, plans_with_room, read_room
from projects.models.batch import Batch, BatchItem
from projects.models.catalogue import AgentType, Plan
from projects.models.engine_host import EngineHost
from projects.models.event import Actor, Event
from projects.models.event_cursor import EventCursor
from projects.models.gateway import Gateway
from projects.models.idempotency import IdempotencyRecord
from projects.models.installation import Installation
from projects.models.key_check import KeyCheck
from projects.models.long_request import LongRequest
from projects.models.price import ModelPrice
from projects.models.project import Project
from projects.models.provider import Provider
from projects.models.quarantine import Quarantined
from projects.models.run import Run
from projects.models.sample import Sample
from projects.models.service_trouble import ServiceTrouble
from projects.models.tally import Tally
from projects.models.usage import HourlyUsage, Spending
from projects.models.watcher import Watch

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
