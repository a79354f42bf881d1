# The image of the action; elsewhere: docker run --rm -v "$PWD:/github/workspace" -w /github/workspace IMAGE plan
#
# It has no USER: GitHub wants actions to run as root, since nobody else could write to the workspace and to
# the runner's files (https://docs.github.com/en/actions/reference/workflows-and-actions/dockerfile-support).

# Dependabot keeps the digest current.
FROM python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285 AS base


FROM base AS packages
# To take the symbols off libraries: most of a wheel's size. The newest version, as of Git.
# hadolint ignore=DL3008
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends binutils > /dev/null
COPY requirements/runtime.txt /tmp/
# Wheels alone, so that nothing of a dependency is run before the image is.
RUN python3 -m pip install --disable-pip-version-check --no-cache-dir --no-compile --quiet --root-user-action ignore \
      --only-binary :all: --require-hashes --requirement /tmp/runtime.txt --target /out/opt/flux-upgrade
WORKDIR /out/opt/flux-upgrade
# Half of it is not needed: cryptography signs with an App's key, of which this program is given the token; cffi and
# pycparser build extensions; and bytecode does without the source, of the dependencies also without documentation.
RUN rm -rf bin cryptography* cffi* pycparser* \
 && find . -name '*.so*' -exec strip --strip-unneeded {} + \
 && python3 -m compileall -q -b -o 2 --invalidation-mode unchecked-hash . \
 && find . -name '*.py' -delete
COPY src/flux_upgrade flux_upgrade
# By hash, unchecked: the times of files do not survive a reproducible build. A traceback names file and line.
RUN python3 -m compileall -q -b --invalidation-mode unchecked-hash flux_upgrade \
 && find flux_upgrade -name '*.py' -delete \
 && mkdir -p /out/usr/local/bin \
 && printf '%s\n' '#!/usr/bin/env python3' 'import sys' 'from flux_upgrade.main import main' 'sys.exit(main())' \
      > /out/usr/local/bin/flux-upgrade \
 && chmod 755 /out/usr/local/bin/flux-upgrade


# Debian's package would bring Perl along, and be larger than all the rest. What is taken of it: git, its helper for
# http(s), the libraries that the base has not, and for each package its copyright and its record, which tells
# scanners (and the SBOM) what is there.
FROM base AS git
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# Debian's mirrors have the newest version alone, so one that is pinned could not be had after the next fix.
# hadolint ignore=DL3008
RUN find /usr/lib -name '*.so*' | sort > /tmp/had; \
    apt-get update -qq; \
    apt-get install -qq -y --no-install-recommends git > /dev/null; \
    printf '%s\n' /usr/bin/git /usr/lib/git-core/git-remote-http > /tmp/taken; \
    xargs ldd < /tmp/taken | sed -n 's,.* => /\(usr/\)*\(lib[^ ]*\).*,/usr/\2,p' | sort -u \
      | comm -23 - /tmp/had > /tmp/linked; \
    cat /tmp/linked >> /tmp/taken; \
    xargs dpkg-query --search < /tmp/taken | cut -d : -f 1 | sort -u > /tmp/packages; \
    mkdir -p /out/var/lib/dpkg/status.d; \
    while read -r package; do \
      dpkg-query --status "$package" > "/out/var/lib/dpkg/status.d/$package"; \
      cp --parents --dereference "/usr/share/doc/$package/copyright" /out; \
    done < /tmp/packages; \
    xargs cp --parents --dereference --target-directory=/out < /tmp/taken; \
    ln -s git-remote-http /out/usr/lib/git-core/git-remote-https


FROM base
COPY --from=git /out /
COPY --from=packages /out /
# PYTHONSAFEPATH: nothing is imported from the workspace. Nobody answers a question of git's. Checkouts in the
# workspace belong to the runner's user: they are read with nothing of their configuration.
ENV PYTHONPATH=/opt/flux-upgrade \
    PYTHONSAFEPATH=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    GIT_TERMINAL_PROMPT=0 \
    FLUX_UPGRADE_WORKSPACE=/github/workspace
# The release's tag; `dev` for an image that a workflow builds by itself.
ARG VERSION=dev
ARG REVISION=
ARG SOURCE=
ENV FLUX_UPGRADE_VERSION="${VERSION}"
LABEL org.opencontainers.image.title="flux-upgrade" \
      org.opencontainers.image.description="Keeps Flux current in GitOps repositories, and loses nothing" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
ENTRYPOINT ["flux-upgrade"]
