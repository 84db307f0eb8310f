"""One-click sign-in for the demonstration: a signed link that is good for a day, for one user and her present password."""

from hashlib import sha256

from django.conf import settings
from django.core import signing
from django.urls import reverse

from studyplatform.study.models import User

SALT = "studyplatform.console.entering"
A_DAY = 24 * 3600


def _mark(user: User) -> str:
    return sha256(user.password.encode()).hexdigest()[:16]


def entry_url(user: User) -> str:
    """Absolute address that logs `user` in. Only `manage.py demo` hands it out; a changed password makes it invalid."""
    token = signing.dumps({"user": user.pk, "mark": _mark(user)}, salt=SALT)
    return settings.PUBLIC_URL + reverse("console:enter", args=[token])


def user_of(token: str) -> User | None:
    """The user a link was made for; None if it was altered, is older than a day, or the user is gone or changed."""
    try:
        said = signing.loads(token, salt=SALT, max_age=A_DAY)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=said["user"], is_active=True).first()
    return user if user and _mark(user) == said["mark"] else None
