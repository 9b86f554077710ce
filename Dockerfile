# docker build -t textmill . && docker run --rm -v "$PWD:/data" -w /data textmill wikiprep dump.xml.bz2
# Several ranks: docker run ... textmill mpirun -n 4 --bind-to none train ... What the build needs is in debian/control.
FROM debian:13-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential
COPY . /src/textmill
RUN cd /src/textmill && apt-get build-dep -y --no-install-recommends . && DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -us -uc
FROM debian:13-slim
COPY --from=build /src/textmill_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb bzip2 curl ca-certificates openmpi-bin openssh-client \
    && rm -rf /tmp/*.deb /var/lib/apt/lists/*
# The user of a container is root, which mpirun asks to be told.
ENV OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
