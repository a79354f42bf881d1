"""Healthy GitOps repositories that were written for the tests, with their history, and real ones without.

A written one is a file in ``repositories``, as ``txtar.py`` has it:

    The users, in a sentence.

    -- settings.toml --
    url = "https://github.com/acme/fleet"

    [clusters.production]
    manifest = "clusters/production/flux-system/gotk-components.yaml"
    releases = {2025-07-14 = "v2.6.4", 2025-12-08 = "v2.7.5"}
    -- files/apps/podinfo.yaml --
    -- until/2025-10-01/apps/podinfo.yaml --

- ``releases``: the commits that upgrade a cluster. Its ``manifest`` is rendered from each release.
- ``@production@`` in a file is the release that the cluster has in that commit, without the ``v``, and
  ``@registry@`` a registry that has the ``images``.
- ``until/DATE/`` has the content that a file had before that date.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import subprocess
import tarfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from adapters.loopback import Answer, Loopback
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.pins.regenerate import Regenerator
from memory import NoFlux
from real_parts import require_program, require_shared
from txtar import Archive, read

WRITTEN = sorted(Path(__file__).with_name("repositories").glob("*.txtar"))
_BRANCH = re.compile(r"^\s*branch: *(\S+)", re.MULTILINE)

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Cluster:
    releases: Mapping[str, str]  # Date of a commit → the release from then on
    manifest: str = ""  # Path; empty: the files have the version in another form
    components_extra: Sequence[str] = ()

    def release(self, date: str) -> str:
        """Return the release in the commit of a date; before the first one, the first."""
        return self.releases[max((day for day in self.releases if day <= date), default=min(self.releases))]


@dataclass(frozen=True)
class Written:
    archive: Archive
    url: str
    clusters: Mapping[str, Cluster]
    images: Sequence[str] = ()

    @property
    def dates(self) -> list[str]:
        """The dates of all commits, oldest first."""
        days = {day for cluster in self.clusters.values() for day in cluster.releases}
        return sorted(days | {name.split("/")[0] for name in self.archive.under("until")})

    def files(self, date: str, releases: Path, registry: str) -> dict[str, bytes]:
        """Return the files in the commit of a date."""
        files = self.archive.under("files")
        earlier = self.archive.under("until")
        for day in sorted({name.split("/")[0] for name in earlier}, reverse=True):
            files |= self.archive.under(f"until/{day}") if date < day else {}
        values = {name: cluster.release(date).removeprefix("v") for name, cluster in self.clusters.items()}
        for name, value in {**values, "registry": registry}.items():
            files = {path: text.replace(f"@{name}@".encode(), value.encode()) for path, text in files.items()}
        for cluster in self.clusters.values():
            if cluster.manifest and date >= min(cluster.releases):
                content = _manifest(releases, cluster.release(date), tuple(cluster.components_extra))
                files[cluster.manifest] = content
        return files


@dataclass(frozen=True)
class Staged:
    """A repository on disk."""

    name: str
    mode: str  # `history`, `shallow` and `files`; of a real one `files` and `commit`
    root: Path
    args: Sequence[str] = ()  # For a command in it


def read_written(path: Path) -> Written:
    """Read a file of ``repositories``."""
    archive = read(path)
    settings = tomllib.loads(archive.text("settings.toml"))
    clusters = {
        name: Cluster(**{key.replace("-", "_"): value for key, value in table.items()})
        for name, table in settings.pop("clusters").items()
    }
    return Written(archive, clusters=clusters, **settings)


def staged_all(folder: Path, releases: Path) -> Iterator[Staged]:
    """Yield the written repositories and the real ones, one after the other, in each mode."""
    for path in WRITTEN:
        below = folder / path.stem
        below.mkdir()
        with staged_written(path, below, releases) as modes:
            yield from modes
    trees = folder / "trees"
    with tarfile.open(require_shared("conformance", "trees.tar.xz")) as archive:
        archive.extractall(trees, filter="data")
    for root in sorted(trees.iterdir()):
        yield from staged_tree(root)


@contextlib.contextmanager
def staged_written(path: Path, folder: Path, releases: Path) -> Iterator[list[Staged]]:
    """Write a repository below ``folder`` in each mode: with its history, as a shallow clone, and without Git."""
    repository = read_written(path)
    with contextlib.ExitStack() as stack:
        host = ""
        if repository.images:
            host = stack.enter_context(Loopback(_manifests(repository.images))).host
        args = [f"--allow-hosts={host}"] if host else []
        commits = {date: repository.files(date, releases, host) for date in repository.dates}
        history, shallow, files = (folder / mode for mode in ("history", "shallow", "files"))
        import_commits(history, commits, repository.url, ["main"])
        git(folder, "clone", "--quiet", "--depth=1", history.as_uri(), str(shallow))
        git(shallow, "remote", "set-url", "origin", repository.url)
        write_tree(files, commits[max(commits)])
        yield [Staged(path.stem, root.name, root, args) for root in (history, shallow, files)]


def staged_tree(root: Path) -> Iterator[Staged]:
    """Yield a real repository as it is unpacked, and then the same as a checkout of one commit."""
    yield Staged(root.name, "files", root)
    syncs = [path.read_text() for path in root.rglob("gotk-sync.yaml")]
    branches = sorted({"main", *(branch for text in syncs for branch in _BRANCH.findall(text))})
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all", "--force")
    git(root, "-c", "user.name=a", "-c", "user.email=a@acme.example", "commit", "--quiet", "--message=Flux")
    _add_remote(root, f"https://github.com/{root.name.replace('+', '/')}", branches)
    yield Staged(root.name, "commit", root)


def import_commits(root: Path, commits: Mapping[str, Files], url: str, branches: Iterable[str]) -> None:
    """Make ``root`` a checkout of commits by their dates, that all ``branches`` of its remote have."""
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    stream = b"".join(part for date, files in sorted(commits.items()) for part in _commit(date, files))
    git(root, "fast-import", "--quiet", stdin=stream)
    git(root, "reset", "--quiet", "--hard")
    _add_remote(root, url, branches)


def write_tree(root: Path, files: Files) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def git(folder: Path, *args: str, stdin: bytes = b"") -> None:
    """Run Git without any settings of the machine."""
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.defpath}
    subprocess.run([require_program("git"), *args], cwd=folder, env=env, input=stdin, check=True)  # noqa: S603


def _add_remote(root: Path, url: str, branches: Iterable[str]) -> None:
    git(root, "remote", "add", "origin", url)
    for branch in branches:
        git(root, "update-ref", f"refs/remotes/origin/{branch}", "HEAD")


def _commit(date: str, files: Files) -> Iterator[bytes]:
    seconds = int(datetime.fromisoformat(f"{date}T12:00:00").replace(tzinfo=UTC).timestamp())
    message = b"Change the fleet\n"
    yield b"commit refs/heads/main\n"
    yield f"committer Alice <alice@acme.example> {seconds} +0000\n".encode()
    yield b"data %d\n%sdeleteall\n" % (len(message), message)
    for path, content in sorted(files.items()):
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)


def _manifests(images: Sequence[str]) -> dict[str, Answer]:
    """Return the answers of a registry that has these images."""
    names = (image.partition(":") for image in images)
    return {f"/v2/{name}/manifests/{tag}": Answer(json.dumps({"image": name}).encode()) for name, _, tag in names}


@functools.cache
def _manifest(releases: Path, tag: str, extra: tuple[str, ...]) -> bytes:
    options = InstallOptions(tag)
    options = options._replace(components=(*options.components, *extra))
    return _regenerator(releases).regenerate(options).text.encode()


@functools.cache
def _regenerator(releases: Path) -> Regenerator:
    return Regenerator(DirectoryReleases(str(releases)), NoFlux())
