"""The catalogue under /api: the plans that are open to the caller, and the agent types."""

from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.api.revalidation import RevalidatedView
from accounts.http import AuthenticatedRequest
from projects.api.serializers.catalogue import PROVIDERS, AgentTypeSerializer, PlanSerializer
from projects.models import AgentType, plans_offered_to
from projects.models.provider import read_names


class PlanViewSet(RevalidatedView, ViewSet):
    throttle_scope = "commands"

    @describe(
        operation_id="list_plans", tags=["catalogue"], responses={200: PlanSerializer(many=True), **problems(401)}
    )
    def list(self, request: AuthenticatedRequest) -> Response:
        """List the plans that are open to you."""
        return Response(PlanSerializer(plans_offered_to(request.user), many=True).data)


class AgentTypeViewSet(RevalidatedView, ViewSet):
    throttle_scope = "commands"

    @describe(
        operation_id="list_types", tags=["catalogue"], responses={200: AgentTypeSerializer(many=True), **problems(401)}
    )
    def list(self, request: AuthenticatedRequest) -> Response:
        """List the kinds of agent."""
        rows = AgentType.objects.filter(available=True)
        return Response(AgentTypeSerializer(rows, many=True, context={PROVIDERS: read_names()}).data)
