"""The addresses of the participant's pages around the chat."""

from django.urls import path

from studyplatform.study.pages import agreeing, coming, home, leaving

urlpatterns = [
    path("j/<str:token>/", coming.open_link, name="open_link"),
    path("join/<slug:code>/", coming.join, name="join"),
    path("p/<slug:code>/", home.home, name="home"),
    path("p/<slug:code>/plan/", home.plan, name="plan"),
    path("p/<slug:code>/consent/", agreeing.consent, name="consent"),
    path("p/<slug:code>/instructions/", agreeing.instructions, name="instructions"),
    path("p/<slug:code>/preferences/", home.preferences, name="preferences"),
    path("p/<slug:code>/s/<slug:session_code>/begin/", home.begin, name="begin"),
    path("p/<slug:code>/stop/", leaving.stop, name="stop"),
    path("p/<slug:code>/leave/", leaving.leave, name="leave"),
    path("p/<slug:code>/left/", leaving.left, name="left"),
    path("p/<slug:code>/end/", home.end, name="end"),
    path("p/<slug:code>/not-you/", coming.not_you, name="not_you"),
]
