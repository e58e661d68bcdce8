# One image for every role of `puruto`: a worker unless told otherwise.

FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /build
# The dependencies alone, so that a change of our own code does not build them again. A benchmark
# that the manifest names has to be there, whatever is in it.
COPY Cargo.toml Cargo.lock ./
RUN mkdir -p src benches/runtime benches/gateway \
    && echo 'fn main() {}' > src/main.rs \
    && cp src/main.rs benches/runtime/main.rs \
    && cp src/main.rs benches/gateway/main.rs \
    && touch src/lib.rs \
    && cargo build --locked --release --bin puruto \
    && rm -r src
COPY src src
# Cargo goes by the time of a file, and that of a checkout may be older than the build above.
RUN touch src/main.rs src/lib.rs \
    && cargo build --locked --release --bin puruto

FROM debian:12.11-slim
# Certificates for model servers; Python for Purutos of kind `command` that are written in it.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin puruto
COPY --from=build /build/target/release/puruto /usr/local/bin/puruto
WORKDIR /fleet
COPY config/fleet.toml config/fleet.toml
COPY config/skills config/skills
COPY workers workers
USER 10001
# Prometheus asks from another container.
ENV PURUTO_WORKER__TELEMETRY=0.0.0.0:9464
EXPOSE 8080 9464
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["puruto", "health"]
ENTRYPOINT ["puruto"]
CMD ["worker"]
