"""The Flux CLI, where there is one: what renders a release that our rules do not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flux_upgrade.adapters.http.archive import parse_json
from flux_upgrade.adapters.local import programs
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.text import one_line
from flux_upgrade.model.versions import is_tag


class LocalFluxCli:
    """The port FluxCli: the first ``flux`` on ``path`` (folders with ``:`` between).

    It is run with ``environment`` and nothing else in its environment, without a
    shell, for at most ``timeout`` seconds.
    """

    def __init__(self, path: str, environment: Mapping[str, str], timeout: float = 60.0) -> None:
        self._program = programs.find(path, "flux")
        self._environment = dict(environment)
        self._timeout = timeout

    def version(self) -> str:
        """Empty also where it tells no release (development builds)."""
        if self._program is None:
            return ""
        version = self._version_of_command() or self._version_of_flag()
        tag = f"v{version.removeprefix('v')}"
        return tag if is_tag(tag) else ""

    def _version_of_command(self) -> str:
        """The value of ``{"flux": "v2.9.4"}``."""
        try:
            answer = parse_json(self._run("version", "--client", "-o", "json"), "flux version")
        except SourceUnavailable:
            return ""
        version = answer.get("flux") if isinstance(answer, dict) else None
        return version if isinstance(version, str) else ""

    def _version_of_flag(self) -> str:
        """The last word of ``flux version 2.9.4``."""
        try:
            return self._run("--version").decode("utf-8", "replace").strip().rpartition(" ")[2]
        except SourceUnavailable:
            return ""

    def install_export(self, flags: Sequence[str]) -> str:
        """``flags`` as ``--name=value``. Also raises where there is no program."""
        try:
            return self._run("install", "--export", *flags).decode("utf-8")
        except UnicodeDecodeError:
            raise self._failed("what it prints is not UTF-8 text") from None

    def _run(self, *arguments: str) -> bytes:
        if self._program is None:
            raise self._failed("it is not on PATH")
        try:
            done = programs.run((self._program, *arguments), self._environment, self._timeout)
        except programs.CannotRun as error:
            raise self._failed(str(error)) from error
        if done.code != 0:
            lines = done.err.strip().splitlines()
            raise self._failed(lines[-1] if lines else f"it ended with {done.code}")
        return done.out

    def _failed(self, why: str) -> SourceUnavailable:
        return SourceUnavailable(
            f"the Flux CLI {one_line(self._program or 'flux')} failed: {one_line(why)}",
            hint="run it by hand with the same flags, or take it off PATH",
        )
