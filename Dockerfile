# Builds the service, and with `--target socket-proxy` the proxy in front of the engine's socket. `manage.py build_images`
# builds the agents' images.
#
# PYTHON_IMAGE needs Python 3.11 or newer with venv, which brings pip. If no image registry is reachable, use the base that
# `build_images` builds from Debian packages: `--build-arg PYTHON_IMAGE=berth-base:trixie`. If no package index is
# reachable, put the .whl files, including uv's, into `wheelhouse/` next to this file. If your network re-signs TLS, put
# your CA bundle next to this file as `build-ca.crt`: downloads trust it here, and those of `build_images` in the
# container. WITH=tracing adds the packages for traces (docs/metrics.md). This file uses only features of the classic
# builder, so that an engine without BuildKit can build it.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
ARG WITH=
WORKDIR /srv/berth
COPY pyproject.toml uv.lock build-ca.cr[t] wheelhous[e] /build/
RUN if [ -s /build/build-ca.crt ]; then export PIP_CERT=/build/build-ca.crt SSL_CERT_FILE=/build/build-ca.crt; fi \
 && if ls /build/*.whl >/dev/null 2>&1; then export PIP_NO_INDEX=1 PIP_FIND_LINKS=/build; fi \
 && export UV_PYTHON_DOWNLOADS=never PIP_DISABLE_PIP_VERSION_CHECK=1 \
 && python3 -m venv /opt/uv && /opt/uv/bin/pip install --quiet --no-cache-dir uv==0.13.8 \
 && /opt/uv/bin/uv export --quiet --frozen --no-dev ${WITH:+--group "$WITH"} --no-emit-project --project /build --output-file /build/locked.txt \
 && python3 -m venv --without-pip .venv \
 && /opt/uv/bin/uv pip install --quiet --no-cache --compile-bytecode --link-mode copy --require-hashes \
        ${PIP_NO_INDEX:+--no-index --find-links /build} --python .venv/bin/python -r /build/locked.txt
COPY . .
RUN rm -rf wheelhouse \
 && python3 -m compileall -q -x containers/images accounts config containers projects

FROM ${PYTHON_IMAGE} AS socket-proxy
RUN groupadd --gid 10000 berth \
 && useradd --uid 10001 --gid 10000 --no-create-home --home-dir /srv/proxy --shell /usr/sbin/nologin berth-proxy \
 && install -d -o berth-proxy -g berth -m 750 /run/engine
WORKDIR /srv/proxy
COPY containers/__init__.py containers/seccomp.json containers/
COPY containers/socket_proxy containers/socket_proxy
RUN python3 -m compileall -q containers
ENV PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="Berth's socket proxy" \
    org.opencontainers.image.version="0.3.0" \
    org.opencontainers.image.licenses="MIT"
USER berth-proxy
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=10s --start-period=10s CMD ["python3", "-m", "containers.socket_proxy.probe"]
CMD ["python3", "-m", "containers.socket_proxy"]

FROM ${PYTHON_IMAGE} AS service
RUN groupadd --gid 10000 berth \
 && useradd --uid 10000 --gid 10000 --no-create-home --home-dir /srv/berth --shell /usr/sbin/nologin berth \
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
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; from os import environ as e; urllib.request.urlopen(f\"http://127.0.0.1:{e.get('BERTH_ROLE') == 'watcher' and e.get('BERTH_WATCHER_PORT') or e.get('BERTH_PORT', '8000')}/healthz\", timeout=8)"]
# With exec, signals reach `serve` itself. `build_images` builds the images of the gateway and of the assistant, and makes
# those of other types current.
CMD ["sh", "-c", "python manage.py prepare && python manage.py build_images --first-run && exec python manage.py serve"]
