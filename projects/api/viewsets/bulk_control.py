"""One command for many projects, one after the other, with a result for each."""

import json
from functools import partial
from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from accounts.api.fields import StrictCharField, StrictChoiceField, StrictSerializer
from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.http import AuthenticatedRequest
from projects.api.idempotency import Answer, answer_once
from projects.api.parameters import IDEMPOTENCY_KEY, REPLAYED
from projects.api.viewsets.own_projects import OwnProjectsViewSet, find_actor, read_id
from projects.models.rows.snapshot import take_snapshot
from projects.rules.status.lifecycle import Action
from projects.rules.status.statuses import Status
from projects.services.commands.bulk import act_on_each, carry_out
from projects.services.observation import refresh

MOST = 50
"""The maximum number of projects in one request."""

BEGIN_WITHIN = 8.0
"""Seconds within which a request begins the next project. The last one may take as long as any single command."""

DONE, NOT_DONE, LEFT = "done", "refused", "left"
_LATER = "The time of this request is over. Send the rest in another one."
_THROTTLED = "You have given as many commands as are allowed in a minute. Send the rest as soon as `retry_after` says."


@extend_schema_field({"type": "string", "format": "uuid"})
class _IdField(StrictCharField):
    default_error_messages = {"no_id": "Must be the id of a project."}

    def to_internal_value(self, data: Any) -> str:
        try:
            return str(read_id(super().to_internal_value(data)))
        except Http404:
            self.fail("no_id")


class _IdsField(serializers.ListField):
    """A list whose length is checked before its members: each of them can be wrong."""

    default_error_messages = {"not_a_list": "Must be a JSON array."}

    def run_child_validation(self, data: Any) -> Any:
        if len(data) > MOST:
            message = self.error_messages["max_length"].format(max_length=MOST)
            raise serializers.ValidationError(message, code="max_length")
        return super().run_child_validation(data)


class BulkControlSerializer(StrictSerializer):
    """One command to many projects."""

    ids = _IdsField(child=_IdField(max_length=36), min_length=1, max_length=MOST)
    action = StrictChoiceField(choices=Action.values)

    def validate_ids(self, ids: list[str]) -> list[str]:
        if len(set(ids)) < len(ids):
            raise serializers.ValidationError("Name each project once.", code="repeated")
        return ids


class RefusalSerializer(serializers.Serializer[Any]):
    """The same refusal as for a command to this project alone."""

    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    retry_after = serializers.IntegerField(allow_null=True, help_text="Seconds.")


class BulkResultSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    outcome = serializers.ChoiceField(
        [DONE, NOT_DONE, LEFT],
        help_text="`done`: like 200 or 202 for this project alone. `refused`: `problem` says why. `left`: send it "
        "again.",
    )
    status = serializers.ChoiceField(
        Status.choices, allow_null=True, help_text="Null: the project is not yours or is gone."
    )
    problem = RefusalSerializer(allow_null=True)


class BulkAnswerSerializer(serializers.Serializer[Any]):
    results = BulkResultSerializer(many=True)


class BulkControlView(OwnProjectsViewSet):
    @describe(
        operation_id="control_projects",
        tags=["projects"],
        request=BulkControlSerializer,
        parameters=[IDEMPOTENCY_KEY, REPLAYED],
        responses={200: BulkAnswerSerializer, **problems(400, 401, 403, 409, 413, 415, 422, 429)},
    )
    def control_all(self, request: AuthenticatedRequest) -> Response:
        """Start, stop or restart many agents, at most 50, one after the other. Each counts as one command."""
        serializer = BulkControlSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        ids, action = serializer.validated_data["ids"], Action(serializer.validated_data["action"])
        act, key = partial(self._act_on_each, ids, action), self.values[IDEMPOTENCY_KEY]
        if key is None:
            answer = Answer({"results": act()}, is_replay=False)
        else:
            answer = answer_once(owner=request.user, key=key, body=request.data, make=lambda _: {"results": act()})
        self._tell_status_of_now(answer.body["results"])
        return Response(answer.body, headers={REPLAYED.name: "true"} if answer.is_replay else {})

    def _act_on_each(self, ids: list[str], action: Action) -> list[dict[str, Any]]:
        bulk = act_on_each(
            ids,
            lambda project_id: self._act_on(project_id, action),
            user=self.request.user,
            meta=self.request.META,
            begin_within=BEGIN_WITHIN,
            is_let_in=self._is_let_in,
        )
        throttled = _problem(429, "throttled", _THROTTLED, retry_after=bulk.wait)
        left = throttled if bulk.wait else _problem(503, "time_over", _LATER, retry_after=1)
        return bulk.results + [_result(each, LEFT, left) for each in bulk.left]

    def _is_let_in(self) -> bool:
        """Returns True. Raises `AuthenticationFailed` if the token has ended."""
        if self.revalidation is not None and self.revalidation.is_due:
            self.revalidation.check_token()
        return True

    def _act_on(self, project_id: str, action: Action) -> dict[str, Any]:
        self.kwargs["id"] = project_id
        name = ""
        try:
            project = self.get_object()
            name = project.name
            carry_out(project, action, find_actor(self.request))
        except Exception as error:  # noqa: BLE001 - handle_exception raises unknown errors again
            # Use exactly the response that a command to this project alone would get.
            refused = self.handle_exception(error)
            problem = json.loads(refused.content)
            # Do not keep the name: responses are stored for a day, even if the project is deleted.
            detail = problem["detail"].replace(f"“{name}”", "The project") if name else problem["detail"]
            wait = refused.headers.get("Retry-After")
            return _result(project_id, NOT_DONE, _problem(problem["status"], problem["code"], detail, retry_after=wait))
        return _result(project_id, DONE, None)

    def _tell_status_of_now(self, results: list[dict[str, Any]]) -> None:
        found = list(self.get_queryset().filter(id__in=[UUID(result["id"]) for result in results]))
        refresh(found)
        statuses = {str(project.id): take_snapshot(project).status for project in found}
        for result in results:
            result["status"] = statuses.get(result["id"])


def _result(project_id: str, outcome: str, problem: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": project_id, "outcome": outcome, "status": None, "problem": problem}


def _problem(status: int, code: str, detail: str, *, retry_after: Any) -> dict[str, Any]:
    wait = None if retry_after is None else int(retry_after)
    return {"status": status, "code": code, "detail": detail, "retry_after": wait}
