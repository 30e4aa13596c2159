# The service itself: web server and watcher in one container. The images of agents are made by `manage.py build_images`.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /srv/berth
RUN pip install --no-cache-dir uv==0.13.8
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --compile-bytecode
COPY . .
RUN python -m compileall -q accounts config containers projects

FROM ${PYTHON_IMAGE}
RUN useradd --uid 10000 --no-create-home --home-dir /srv/berth --shell /usr/sbin/nologin berth \
    && install -d -o berth -g berth -m 700 /data
WORKDIR /srv/berth
COPY --from=build /srv/berth /srv/berth
ENV PATH=/srv/berth/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    BERTH_DATA_DIR=/data \
    BERTH_HOST=0.0.0.0 \
    BERTH_LOG_FORMAT=json
LABEL org.opencontainers.image.title="Berth" \
    org.opencontainers.image.version="0.3.0" \
    org.opencontainers.image.licenses="MIT"
USER berth
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ.get('BERTH_PORT', '8000')}/healthz\", timeout=4)"]
# exec: signals reach `serve` itself. Images of agents are looked for on the engine, and built there where they are missing.
CMD ["sh", "-c", "python manage.py prepare && python manage.py build_images && exec python manage.py serve"]
