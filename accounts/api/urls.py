"""Routes under /api."""

from django.urls import path

from accounts.api.me import MeView
from accounts.api.session_viewsets import OpenSessionViewSet
from accounts.api.shortcuts import session_shortcut, shortened
from accounts.api.viewsets import ApiKeyViewSet, LoginView, LogoutView, SessionView

urlpatterns = [
    path("auth/login", LoginView.as_view(), name="login"),
    path("auth/session", shortened(SessionView.as_view(), session_shortcut), name="session"),
    path("auth/logout", LogoutView.as_view(), name="logout"),
    path("me", MeView.as_view(), name="me"),
    path("auth/keys", ApiKeyViewSet.as_view({"get": "list", "post": "create"}), name="keys"),
    path("auth/keys/<str:pk>", ApiKeyViewSet.as_view({"delete": "destroy"}), name="key"),
    path("auth/keys/<str:pk>/rotate", ApiKeyViewSet.as_view({"post": "rotate"}), name="key-rotate"),
    path("auth/sessions", OpenSessionViewSet.as_view({"get": "list"}), name="sessions"),
    path("auth/sessions/<str:pk>", OpenSessionViewSet.as_view({"delete": "destroy"}), name="open-session"),
]
