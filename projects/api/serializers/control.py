"""The shape on the wire of a command to one project."""

from accounts.api.fields import StrictChoiceField, StrictSerializer
from projects.rules.status.lifecycle import Action


class ControlSerializer(StrictSerializer):
    """One command."""

    action = StrictChoiceField(choices=Action.values)
