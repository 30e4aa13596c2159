"""The pages of the projects."""

from django.urls import path
from django.views.generic import RedirectView

from projects.dashboard import (
    account_views,
    alert_views,
    chart_views,
    event_views,
    image_views,
    list_views,
    live_views,
    log_views,
    memory_views,
    new_project_views,
    pairing_views,
    usage_views,
    views,
)

app_name = "projects"
urlpatterns = [
    path("", list_views.list_projects, name="list"),
    path("projects", RedirectView.as_view(pattern_name="projects:list", query_string=True)),
    path("settings/export", account_views.export_data, name="export"),
    path("settings/delete", account_views.remove_account, name="delete-account"),
    path("projects/changes", list_views.list_changes, name="changes"),
    path("projects/curves", list_views.list_curves, name="curves"),
    path("projects/bulk", list_views.act_on_many, name="bulk"),
    path("projects/new", new_project_views.new_project, name="new"),
    path("projects/new/bot", new_project_views.show_bot, name="new-bot"),
    path("projects/new/provider", new_project_views.show_provider, name="new-provider"),
    path("projects/new/settings", new_project_views.show_settings, name="new-settings"),
    path("projects/new/check", new_project_views.check_form, name="new-check"),
    path("projects/new/steps", new_project_views.show_deploy, name="new-steps"),
    path("settings/alerts", alert_views.show_alerts, name="alerts"),
    path("settings/alerts/<str:way>", alert_views.change_alerts, name="change-alerts"),
    path("projects/<uuid:project_id>", views.show_project, name="show"),
    path("projects/<uuid:project_id>/changes", live_views.show_changes, name="project-changes"),
    path("projects/<uuid:project_id>/control", views.control, name="control"),
    path("projects/<uuid:project_id>/steps", views.show_steps, name="steps"),
    path("projects/<uuid:project_id>/telegram.svg", views.draw_link, name="telegram"),
    path("projects/<uuid:project_id>/log", log_views.follow_log, name="log"),
    path("projects/<uuid:project_id>/log.txt", log_views.download_log, name="log-file"),
    path("projects/<uuid:project_id>/events.csv", event_views.download_events, name="events-csv"),
    path("projects/<uuid:project_id>/change", views.change_project, name="change"),
    path("projects/<uuid:project_id>/charts", chart_views.show_charts, name="charts"),
    path("projects/<uuid:project_id>/usage", usage_views.show_usage, name="usage"),
    path("projects/<uuid:project_id>/usage.csv", usage_views.download_usage, name="usage-csv"),
    path("projects/<uuid:project_id>/budget", usage_views.change_budget, name="budget"),
    path("projects/<uuid:project_id>/people", pairing_views.pair, name="pairing"),
    path("projects/<uuid:project_id>/memory", memory_views.clear_project_memory, name="memory"),
    path("projects/<uuid:project_id>/update", image_views.update_image, name="update"),
    path("projects/<uuid:project_id>/delete", views.remove_project, name="delete"),
]
