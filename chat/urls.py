"""Addresses of the chat's pages, under the participant's own."""

from django.urls import path

from chat import about_me_views, views

urlpatterns = [
    path("p/<str:code>/s/<str:session_code>/", views.chat, name="chat"),
    path("p/<str:code>/s/<str:session_code>/questions/", views.write_questions, name="questions"),
    path("p/<str:code>/s/<str:session_code>/questions/check/", views.check_question, name="check_question"),
    path("p/<str:code>/s/<str:session_code>/questions/close/", views.close_questions, name="close_questions"),
    path("p/<str:code>/memory/", about_me_views.what_is_remembered, name="about_me"),
    path("p/<str:code>/memory/<str:session_code>/<int:seq>/", about_me_views.one_line, name="about_me_line"),
    path("p/<str:code>/try/", views.try_out, name="try_out"),
]
