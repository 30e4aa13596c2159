"""Finds the caller of a request together with the project that it names, in one query."""

from dataclasses import replace
from uuid import UUID

from django.db.models import QuerySet
from rest_framework.request import Request

from accounts.api.authentication import hand_over
from accounts.api.shortcuts import authenticate
from accounts.api.token_query import TokenQuery
from accounts.services.notice import maintenance_text
from projects.models import Project

_ROW = Project.command_rows()


def _find(project_id: UUID) -> "QuerySet[Project]":
    return Project.objects.filter(pk=project_id).with_heartbeat().annotate(maintenance=maintenance_text()).order_by()


_CALLER_AND_PROJECT = TokenQuery(_find, "maintenance", *_ROW.columns, user="owner__", samples=[UUID(int=2)])


def find_with_caller(request: Request, project_id: UUID) -> Project | None:
    """Returns the caller's own project, and hands its owner over to the authentication.

    Returns None if the token is not valid or the caller has no such project. The authentication then says which.
    """
    found = authenticate(request, _CALLER_AND_PROJECT, project_id)
    if found is None:
        return None
    user, credential, (maintenance, *row) = found
    hand_over(request, user, replace(credential, maintenance=maintenance))
    project = _ROW.make(row)
    project.owner = user
    return project
