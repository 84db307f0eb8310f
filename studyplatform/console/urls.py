"""The staff's addresses, all under /console/."""

from django.urls import path

from studyplatform.console import memory_views, pages, views

app_name = "console"

urlpatterns = [
    path("", pages.studies, name="studies"),
    path("enter/<str:token>/", pages.enter, name="enter"),
    path("annotating/", pages.annotating, name="annotating"),
    path("reviewing/", pages.reviewing, name="reviewing"),
    path("studies/<slug:slug>/", views.monitor, name="monitor"),
    path("studies/<slug:slug>/live/", views.live, name="live"),
    path("studies/<slug:slug>/state/", views.state, name="state"),
    path("studies/<slug:slug>/close/", views.close, name="close"),
    path("studies/<slug:slug>/people/", views.people, name="people"),
    path("studies/<slug:slug>/people/invite/", views.invite, name="invite"),
    path("studies/<slug:slug>/people/<str:code>/", views.person, name="person"),
    path("studies/<slug:slug>/memories/", memory_views.arms, name="memories"),
    path("studies/<slug:slug>/memories/<str:code>/<str:arm_code>/", memory_views.memory, name="memory"),
    path("studies/<slug:slug>/memories/<str:code>/<str:arm_code>/events/", memory_views.events, name="memory_events"),
    path("studies/<slug:slug>/memories/<str:code>/<str:arm_code>/<int:number>/<int:seq>/", memory_views.turn, name="memory_turn"),
    path("studies/<slug:slug>/sessions/<str:code>/end/", views.end_session, name="end_session"),
    path("studies/<slug:slug>/runs/<str:code>/retry/", views.retry, name="retry"),
    path("studies/<slug:slug>/design/", pages.design, name="design"),
    path("studies/<slug:slug>/design/file/", pages.design_file, name="design_file"),
    path("studies/<slug:slug>/conditions/", views.conditions, name="conditions"),
    path("studies/<slug:slug>/record/", pages.record, name="record"),
]
