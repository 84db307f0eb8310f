"""Addresses. Participants' pages are under /p/<code>/, staff pages under /console/."""

from django.urls import include, path

from studyplatform.front import front

urlpatterns = [
    path("", front, name="front"),
    path("accounts/", include("allauth.account.urls")),
    path("", include("studyplatform.study.urls")),
    path("", include("chat.urls")),
    path("console/", include("studyplatform.console.urls")),
]
