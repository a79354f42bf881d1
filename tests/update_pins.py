"""Moves the pins of npm packages and Go programs that the tests use, in the files that have them: `make pins`.

Needs npm and go. A version counts once it is seven days old, and if it is no prerelease. Flux and its controllers in
tests/real_flux/programs.py are not among them: they follow the releases that this program knows.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import semver

ROOT = Path(__file__).resolve().parent.parent
AGE = timedelta(days=7)
_NPM = r'"{}",\s+"(?P<version>[^"]+)",\s+"(?P<digest>sha512-[^"]+)"'
_GO = r'"{}",\s+"(?P<version>v[^"]+)"'
_SCHEMAS, _PROGRAMS = "tests/stand_in/fetch_schemas.py", "tests/real_flux/programs.py"


@dataclass(frozen=True)
class Pin:
    file: str
    package: str
    pattern: str  # Matches once, with `version`, and for an npm package with the archive's `digest`
    fixed: int
    """So many numbers of the version stay: a new minor of a Go program can want another Go, and a new major of Renovate
    another Node."""

    @property
    def is_npm(self) -> bool:
        return "(?P<digest>" in self.pattern


PINS = (
    Pin(_SCHEMAS, "@octokit/openapi", _NPM.format("@octokit/openapi"), 0),
    Pin(_SCHEMAS, "@octokit/graphql-schema", _NPM.format("@octokit/graphql-schema"), 0),
    Pin(
        "tests/renovate/fetch_renovate.py",
        "renovate",
        r'VERSION = "(?P<version>[^"]+)"\nDIGEST = "(?P<digest>sha512-[^"]+)"',
        1,
    ),
    Pin(_PROGRAMS, "k8s.io/kubernetes", r'KUBERNETES = "(?P<version>v[^"]+)" if', 2),
    Pin(_PROGRAMS, "k8s.io/kubernetes", r'KUBERNETES = .* else "(?P<version>v[^"]+)"', 2),
    Pin(_PROGRAMS, "go.etcd.io/etcd/server/v3", r'ETCD = "(?P<version>v[^"]+)"', 2),
    Pin(_PROGRAMS, "helm.sh/helm/v3", _GO.format("helm.sh/helm/v3"), 2),
    Pin(_PROGRAMS, "github.com/opentofu/opentofu", _GO.format("github.com/opentofu/opentofu"), 2),
    Pin(
        _PROGRAMS,
        "github.com/gavinbunney/terraform-provider-kubectl",
        _GO.format("github.com/gavinbunney/terraform-provider-kubectl"),
        2,
    ),
    Pin(_PROGRAMS, "code.gitea.io/gitea", _GO.format("code.gitea.io/gitea"), 2),
    Pin(_PROGRAMS, "github.com/home-operations/flate", _GO.format("github.com/home-operations/flate"), 2),
    Pin("tests/workflows/linters.py", "github.com/rhysd/actionlint", r'ACTIONLINT = "(?P<version>v[^"]+)"', 1),
    Pin(
        ".ci/run", "sigs.k8s.io/kustomize/kustomize/v5", r"sigs\.k8s\.io/kustomize/kustomize/v5@(?P<version>v[\d.]+)", 2
    ),
)


def newer(current: str, versions: Iterable[str], fixed: int) -> Iterator[str]:
    """Releases that a pin may move to, the newest first."""
    old = semver.Version.parse(current.removeprefix("v"))
    found = {each: semver.Version.parse(each.removeprefix("v")) for each in versions if _is_release(each)}
    for each in sorted(found, key=found.__getitem__, reverse=True):
        if found[each] > old and found[each].to_tuple()[:fixed] == old.to_tuple()[:fixed]:
            yield each


def _is_release(version: str) -> bool:
    return re.fullmatch(r"v?\d+\.\d+\.\d+", version) is not None


def move(root: Path, pin: Pin, now: datetime) -> str:
    """Write the newest version and digest into the pin's file. Returns what was done; empty: nothing."""
    path = root / pin.file
    text = path.read_text(encoding="utf-8")
    (match,) = re.finditer(pin.pattern, text)
    versions, published = _npm(pin.package) if pin.is_npm else _go(pin.package)
    for version in newer(match["version"], versions, pin.fixed):
        if now - published(version) >= AGE:
            parts = {"version": version}
            if pin.is_npm:
                parts["digest"] = str(_asked("npm", "view", f"{pin.package}@{version}", "dist.integrity", "--json"))
            for name in sorted(parts, key=match.start, reverse=True):
                text = text[: match.start(name)] + parts[name] + text[match.end(name) :]
            path.write_text(text, encoding="utf-8")
            return f"{pin.package} {match['version']} → {version}"
    return ""


def _npm(package: str) -> tuple[Iterable[str], Any]:
    times = _asked("npm", "view", package, "time", "--json")
    return times, lambda version: datetime.fromisoformat(times[version])


def _go(module: str) -> tuple[Iterable[str], Any]:
    found = _asked("go", "list", "-m", "-versions", "-json", module)
    return found.get("Versions", ()), lambda version: datetime.fromisoformat(
        _asked("go", "list", "-m", "-json", f"{module}@{version}")["Time"]
    )


def _asked(*command: str) -> Any:
    # Outside of the repository, so that none of its files configures npm or Go.
    done = subprocess.run(command, check=True, cwd="/", stdout=subprocess.PIPE)  # noqa: S603 npm or go, and a name of ours
    return json.loads(done.stdout)


def main(root: Path) -> int:
    now = datetime.now(UTC)
    for pin in PINS:
        if moved := move(root, pin, now):
            sys.stdout.write(f"{moved}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT))
