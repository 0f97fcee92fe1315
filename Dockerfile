# A small image with the command-line client. It shows what a container needs to run a program that uses the library:
#
#   docker build -t urlsession .
#   docker run --rm urlsession https://example.org/
ARG SWIFT=6.3

FROM swift:${SWIFT}-bookworm AS build
WORKDIR /src
COPY . .
RUN scripts/install build \
    && swift build -c release --product urlsession --static-swift-stdlib \
    && install -s -D "$(swift build -c release --show-bin-path)/urlsession" /out/urlsession

FROM debian:bookworm-slim
# The first line is linked. The other libraries are loaded when they are needed, and each may be left out: TLS, HTTP/2, content codings,
# HTTP/3, stores on disk, public suffixes.
RUN apt-get update \
    && apt-get install -y --no-install-recommends zlib1g libstdc++6 \
        ca-certificates libssl3 libnghttp2-14 libbrotli1 libzstd1 libngtcp2-9 libngtcp2-crypto-gnutls2 libnghttp3-3 libsqlite3-0 libpsl5 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home user
COPY --from=build /out/urlsession /usr/local/bin/urlsession
USER user
ENTRYPOINT ["urlsession"]
