# docker build -t textmill . && docker run --rm -v "$PWD:/data" -w /data textmill wikiprep dump.xml.bz2
FROM debian:13-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc make pkgconf libc6-dev libarchive-dev libxml2-dev \
    libpcre2-dev libyaml-dev libjansson-dev libedit-dev zlib1g-dev libzstd-dev
COPY . /src
RUN make -C /src -j"$(nproc)" install PREFIX=/usr DESTDIR=/out
FROM debian:13-slim
RUN apt-get update && apt-get install -y --no-install-recommends libarchive13t64 libxml2 libpcre2-8-0 libyaml-0-2 \
    libjansson4 libedit2 zlib1g libzstd1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/ /
