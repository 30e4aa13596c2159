"""The routes of the projects' API: each view offers what its routes name, and nothing else."""

from collections import defaultdict
from typing import Any

from projects.api.urls import urlpatterns

EXPECTED = {
    "AgentTypeViewSet": {"list"},
    "BulkControlView": {"control_all"},
    "EventsView": {"list"},
    "PlanViewSet": {"list"},
    "ProjectLogsView": {"logs"},
    "ProjectPairingViewSet": {"create"},
    "ProjectImageViewSet": {"update_image"},
    "ProjectMemoryViewSet": {"destroy"},
    "ProjectReportsViewSet": {"events", "runs", "stats"},
    "ProjectUsageView": {"usage"},
    "ProjectViewSet": {"list", "create", "validate", "retrieve", "partial_update", "destroy", "control"},
}


def test_each_view_offers_only_the_actions_of_its_routes() -> None:
    routed: dict[str, set[str]] = defaultdict(set)
    views = {}
    for pattern in urlpatterns:
        view: Any = pattern.callback
        views[view.cls.__name__] = view.cls
        routed[view.cls.__name__] |= set(view.actions.values())
    assert routed == EXPECTED
    every_action = set().union(*routed.values())
    offered = {name: {action for action in every_action if hasattr(cls, action)} for name, cls in views.items()}
    assert offered == EXPECTED
