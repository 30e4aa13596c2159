"""A command to one project in the API."""

from accounts.api.fields import StrictChoiceField, StrictSerializer
from projects.rules.status.lifecycle import Action


class ControlSerializer(StrictSerializer):
    """One command."""

    action = StrictChoiceField(choices=Action.values)
