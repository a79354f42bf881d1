"""Kustomizations, built by whatever program on PATH can: ``kustomize``, ``kubectl`` or ``flux``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from flux_upgrade.adapters.local import programs
from flux_upgrade.model.errors import ClusterUnfit
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "kustomize": ("build", "{folder}"),
    "kubectl": ("kustomize", "{folder}"),
    # It needs a Kustomization, and must not ask a cluster for it.
    "flux": (
        "build",
        "kustomization",
        "{name}",
        "--path={folder}",
        "--kustomization-file={folder}/gotk-sync.yaml",
        "--dry-run",
    ),
}
_ANYWHERE = "--load-restrictor=LoadRestrictionsNone"  # kustomize and kubectl; `flux` never restricts
_LONGEST = 600
# The time and the process that klog puts before a line would make each run's text another one (k8s.io/klog, header).
_KLOG = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.]+:\d+\] ", re.MULTILINE)
_OFFLINE: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "none",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:0"),
}
"""What is built is in the repository. Should it name something else all the same: Git clones nothing (git(1)), and
Go's client asks a proxy that cannot be there (net/http: ProxyFromEnvironment)."""


def find(path: str, environment: Mapping[str, str], timeout: float = 120.0) -> Kustomize | None:
    """The first of the programs on ``path`` (folders with ``:`` between); None: there is none of them.

    It is run by ``programs.run_isolated`` with ``environment`` and what keeps it offline, for at most ``timeout``
    seconds.
    """
    for name in _ARGUMENTS:
        program = programs.find(path, name)
        if program is not None:
            return Kustomize(name, program, environment, timeout)
    return None


class Kustomize(NamedTuple):
    """One of the programs, run without a shell on a copy in a temporary directory.

    Its plugins stay off. A repository must not be able to put a file of this machine into a cluster: the rule that
    files come from below the kustomization stays on, unless Flux would read a file above it, and ``reach_of`` says
    that nothing leads out of the copy. The copy has no links.
    """

    name: str
    program: str  # its path
    environment: Mapping[str, str]
    timeout: float

    def build(self, files: Mapping[str, bytes], folder: str, name: str) -> bytes:
        # Late: nearly every run builds nothing, and the check reads YAML.
        from tempfile import TemporaryDirectory

        from flux_upgrade.adapters.local.confined import reach_of

        reach = reach_of(files, folder)
        if self.name == "flux" and not reach.is_confined:
            raise ClusterUnfit(
                f"{one_line(self.program)} could read files outside the repository for this kustomization",
                hint="install kustomize or kubectl on PATH: they prevent that",
            )
        more = (_ANYWHERE,) if self.name != "flux" and reach.is_confined and reach.climbs else ()
        with TemporaryDirectory(prefix="flux-upgrade-") as root:
            for path, content in files.items():
                target = os.path.join(root, path)
                # Git has no paths that lead out of it.
                if os.path.commonpath((root, os.path.normpath(target))) != root:
                    raise ClusterUnfit(
                        f"{one_line(path)} is outside the repository", hint="move it into the repository"
                    )
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "xb") as file:
                    file.write(content)
            words = {"folder": os.path.join(root, folder), "name": name}
            command = (self.program, *(each.format(**words) for each in _ARGUMENTS[self.name]), *more)
            try:
                done = programs.run_isolated(command, {**self.environment, **_OFFLINE}, self.timeout, root)
            except programs.CannotRun as error:
                raise self._failed(str(error)) from error
            if done.returncode != 0:
                said = _KLOG.sub("", done.stderr.decode("utf-8", "replace"))
                message = " ".join(said.split()).replace(f"{root}/", "")
                raise self._failed(message or f"it exited with code {done.returncode}")
            return done.stdout

    def _failed(self, why: str) -> ClusterUnfit:
        return ClusterUnfit(
            f"{one_line(self.program)} cannot build the kustomization: {one_line(why, _LONGEST)}",
            hint="fix kustomization.yaml, and check it with the same program",
        )
