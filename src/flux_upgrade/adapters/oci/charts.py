"""Helm charts in any repository: which versions there are, and what each of them installs.

helm.sh, "The Chart Repository Guide" (``index.yaml``) and "Use OCI-based registries"; the media
type of a chart's config is in helm's pkg/registry/constants.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

import yaml

from flux_upgrade.adapters.http import failures, origins
from flux_upgrade.adapters.http.archive import parse_json, refused
from flux_upgrade.adapters.http.client import BodyTooLarge, Client, RequestOptions, Response
from flux_upgrade.adapters.oci.chart_credentials import ChartCredentials, may_hear
from flux_upgrade.adapters.oci.registry_credentials import RegistryCredential
from flux_upgrade.adapters.oci.repository import RegistryRepository, open_repository
from flux_upgrade.model.errors import ForbiddenByRegistry, SourceUnavailable
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.text import one_line
from flux_upgrade.model.versions import Version, is_tag

CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
MAX_INDEX = 32 * 1024 * 1024
"""Bytes. Flux itself reads no index above 50 MiB; that of fluxcd-community has less than one."""
_MAX_CONFIG = 1024 * 1024
_DENIED = (401, 403)
_REFUSALS = (*_DENIED, 404)
"""404, too: some servers do not say that a private repository exists."""
LOG_IN = "add the repository with `helm repo add --username`, or its host to the Docker config (--docker-config)"


def chart_versions(
    client: Client, repository: str, chart: str, credentials: ChartCredentials | None = None
) -> Mapping[str, str]:
    """A chart's versions, newest first, each with the ``appVersion`` that it installs.

    What a chart in a registry installs is asked for when it is looked at. ``credentials`` are looked up after a
    refusal, and not before. Raises SourceUnavailable, UsageError.
    """
    if repository.startswith(SCHEME):
        name = f"{repository.removeprefix(SCHEME)}/{chart}"
        registries = None if credentials is None else credentials.registries
        return RegistryVersions(open_repository(client, name, registries), chart)
    return _indexed(client, repository, chart, credentials)


class RegistryVersions(Mapping[str, str]):
    """A chart's versions in a registry, newest first. Looking one up asks for its manifest and config."""

    def __init__(self, repository: RegistryRepository, chart: str) -> None:
        """Asks for the list of tags, alone. Raises SourceUnavailable."""
        self._repository, self._chart = repository, chart
        # An OCI tag has no "+": Helm writes "_" for it.
        tags = {tag.replace("_", "+"): tag for tag in repository.tags()}
        versions = [each for each in tags if is_tag(_as_tag(each))]
        versions.sort(key=lambda each: Version(_as_tag(each)), reverse=True)
        self._tags = {each: tags[each] for each in versions}
        self._read: dict[str, str] = {}

    def __getitem__(self, version: str) -> str:
        """Raises SourceUnavailable, UntrustedArchive; KeyError for a version that is not there."""
        if version not in self._read:
            self._read[version] = self._app_version(version, self._tags[version])
        return self._read[version]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tags)

    def __len__(self) -> int:
        return len(self._tags)

    def _app_version(self, version: str, tag: str) -> str:
        what = f"the chart {self._repository.name}:{tag}"
        manifest = self._repository.manifest(tag)
        if manifest is None:
            raise SourceUnavailable(f"{what} is listed, but missing", hint="run flux-upgrade again later")
        config = self._repository.image(manifest).content.get("config")
        if not isinstance(config, dict) or config.get("mediaType") != CONFIG_TYPE:
            raise refused(what, "it is not a Helm chart")
        blob = self._repository.blob(str(config.get("digest")), what, _MAX_CONFIG)
        stated, wanted = parse_json(blob, what), (self._chart, version)
        if not isinstance(stated, dict) or (stated.get("name"), stated.get("version")) != wanted:
            raise refused(what, f"it does not contain version {one_line(version)} of {one_line(self._chart)}")
        app = stated.get("appVersion")
        return app if isinstance(app, str) else ""


def _as_tag(version: str) -> str:
    return f"v{version.removeprefix('v')}"


def _indexed(client: Client, repository: str, chart: str, credentials: ChartCredentials | None) -> Mapping[str, str]:
    parts = urlsplit(repository)
    url = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/index.yaml"))
    what = f"the index of charts at {origins.host(url)}"
    try:
        response = _asked(client, url, None)
        known = None if credentials is None or response.status not in _REFUSALS else credentials.of_index(repository)
        if known is not None:
            response = _asked(client, url, known)
    except BodyTooLarge:
        raise SourceUnavailable(
            f"{what} is larger than {MAX_INDEX} bytes", hint="use a repository with fewer charts"
        ) from None
    except failures.RateLimited as error:
        raise failures.RateLimited(error.message, hint="run flux-upgrade again then") from error
    if response.status in _DENIED:
        raise _denied(response, repository, known)
    if not response.is_found:
        raise SourceUnavailable(
            f"no chart index found at {origins.host(url)}{one_line(urlsplit(url).path)}",
            hint="check the repository's URL: it must serve index.yaml",
        )
    return read_index(response.body, chart, what)


def _asked(client: Client, url: str, credential: RegistryCredential | None) -> Response:
    headers = {} if credential is None else {"Authorization": credential.basic}
    return client.get(url, RequestOptions(headers, limit=MAX_INDEX, accept_status=_REFUSALS, conditional=True))


def _denied(response: Response, repository: str, tried: RegistryCredential | None) -> SourceUnavailable:
    # The answer may be that of a host that the repository's redirects to.
    host, path = origins.host(response.url), one_line(urlsplit(response.url).path)
    message = f"{host} returned status {response.status} for {path}"
    if tried is not None:
        hint = f"check the credentials of {tried.source}: whether they may read this, and whether they have expired"
        return ForbiddenByRegistry(f"{message} and the credentials of {tried.source}", hint=hint)
    if not may_hear(repository):
        return SourceUnavailable(message, hint="use https for the repository: credentials are not sent over plain http")
    return SourceUnavailable(message, hint=LOG_IN)


def read_index(data: bytes, chart: str, what: str) -> dict[str, str]:
    """Version → ``appVersion`` of one chart in an ``index.yaml``, in its order.

    Read event by event, and no further than that chart: an index may be large, nested deeply or
    full of aliases. Raises SourceUnavailable where it is no index; ``what`` names it there.
    """
    try:
        found = _read(iter(yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))), chart)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        at = "" if mark is None else f" in line {mark.line + 1}"
        raise _no_index(what, f"is not valid YAML{at}") from error
    if found is None:
        raise _no_index(what, "has no entries")
    return found


def _no_index(what: str, why: str) -> SourceUnavailable:
    return SourceUnavailable(f"{what} {why}", hint="check the repository's URL, or run flux-upgrade again later")


def _read(events: Iterator[yaml.Event], chart: str) -> dict[str, str] | None:
    """None where there is no mapping ``entries``."""
    before = (yaml.StreamStartEvent, yaml.DocumentStartEvent)
    root = next(each for each in events if not isinstance(each, before))
    is_mapping = isinstance(root, yaml.MappingStartEvent)
    entries = next((value for key, value in _pairs(events) if key == "entries"), None) if is_mapping else None
    if not isinstance(entries, yaml.MappingStartEvent):
        return None
    found: dict[str, str] = {}
    versions = next((value for key, value in _pairs(events) if key == chart), None)
    if not isinstance(versions, yaml.SequenceStartEvent):
        return found
    for item in events:
        if isinstance(item, yaml.SequenceEndEvent):
            break
        if not isinstance(item, yaml.MappingStartEvent):
            _skip(events, item)
            continue
        stated = {key: value.value for key, value in _pairs(events) if isinstance(value, yaml.ScalarEvent)}
        if stated.get("version"):
            found.setdefault(stated["version"], stated.get("appVersion", ""))
    return found


def _pairs(events: Iterator[yaml.Event]) -> Iterator[tuple[str | None, yaml.Event]]:
    """Keys of a mapping whose start was read (None: no text), each with the first event of its value."""
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        _skip(events, event)
        value = next(events)
        yield event.value if isinstance(event, yaml.ScalarEvent) else None, value
        _skip(events, value)  # unless it was what was looked for


def _skip(events: Iterator[yaml.Event], first: yaml.Event) -> None:
    depth = int(isinstance(first, yaml.CollectionStartEvent))
    while depth:
        event = next(events)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
