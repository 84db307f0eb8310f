from django.apps import AppConfig


class RatingApp(AppConfig):
    name = "annotation.rating"
    label = "rating"
    verbose_name = "Ratings by a language model"
