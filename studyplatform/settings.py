"""Django settings: what is the same everywhere. What differs comes parsed from `studyplatform.env`."""

import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from studyplatform import env as _env

BASE_DIR = Path(__file__).resolve().parent.parent

# `stack`, and what needs no database, must run before the stack's file exists.
_BARE = {"stack", "demo", "help", "makemessages", "compilemessages", "collectstatic"}
_PLACEHOLDER = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "SECRET_KEY": "x" * 40,
}


def _load() -> _env.Environment:
    if Path(sys.argv[0]).name == "manage.py" and len(sys.argv) > 1 and sys.argv[1] in _BARE:
        return _env.parse(
            os.environ,
            {**_PLACEHOLDER, **_env.read_env_file(_env.stack_dir() / "stack.env")},
        )
    return _env.load()


ENV = _load()

SECRET_KEY = ENV.SECRET_KEY
DEBUG = ENV.DEBUG
ALLOWED_HOSTS = ENV.ALLOWED_HOSTS
PUBLIC_URL = ENV.PUBLIC_URL.rstrip("/")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "allauth",
    "allauth.account",
    "studyplatform.study",
    "studyplatform.llm",
    "memory",
    "chat",
    "annotation",
    "annotation.rating",
    "annotation.deid",
    "studyplatform.release",
    "studyplatform.reporting",
    "studyplatform.console",
    "studyplatform",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "studyplatform.assets.Assets",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "studyplatform.headers.ContentPolicy",
]

ROOT_URLCONF = "studyplatform.urls"
ASGI_APPLICATION = "studyplatform.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

_db = urlsplit(ENV.DATABASE_URL)
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _db.path.lstrip("/"),
        "USER": unquote(_db.username or ""),
        "PASSWORD": unquote(_db.password or ""),
        "HOST": _db.hostname or "",
        "PORT": str(_db.port or ""),
        # The threshold is for `memory.space.planned_once`; the ORM's own cursors never prepare.
        "OPTIONS": {"pool": {"min_size": 1, "max_size": ENV.DB_POOL_SIZE, "timeout": 30}, "prepare_threshold": 1},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Traps of the broker's client, each met in practice: a socket time-out equal to the blocking read closes every idle
# websocket after five seconds; the default of 100 connections drops messages in bursts.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {
            "hosts": [
                {
                    "address": ENV.REDIS_URL,
                    "socket_timeout": None,
                    "max_connections": 4000,
                }
            ],
            "capacity": 1000,
        },
    }
}

AUTH_USER_MODEL = "study.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "studyplatform.study.accounts.StaffOnly"
LOGIN_REDIRECT_URL = "/console/"
LOGIN_URL = "account_login"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Forgotten passwords: smtps:// is TLS from the start, smtp:// with a user is STARTTLS.
_mail = urlsplit(ENV.EMAIL_URL)
EMAIL_BACKEND = f"django.core.mail.backends.{'console' if _mail.scheme == 'console' else 'smtp'}.EmailBackend"
EMAIL_HOST, EMAIL_PORT = _mail.hostname or "localhost", _mail.port or (465 if _mail.scheme == "smtps" else 587)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_mail.username or ""), unquote(_mail.password or "")
EMAIL_USE_SSL, EMAIL_USE_TLS = _mail.scheme == "smtps", _mail.scheme == "smtp" and bool(_mail.username)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = ENV.EMAIL_FROM

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ja", "日本語")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

_https = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CELERY_BROKER_URL = ENV.REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "studyplatform.jobs.sweep",
        "schedule": 5.0,
        "options": {"expires": 5},
    }
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {"httpx": {"level": "WARNING"}, "httpx2": {"level": "WARNING"}, "openai": {"level": "WARNING"}},
}
