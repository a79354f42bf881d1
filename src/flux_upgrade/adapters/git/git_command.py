"""Git, run by GitPython: nobody is asked for a password, and no hook of anybody's is run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from typing import BinaryIO

from flux_upgrade.adapters.local import programs
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

Settings = tuple[tuple[str, str], ...]  # Keys of Git's configuration, with their values; a key may stand there again

TIMEOUT = 600.0  # seconds that one call of Git may take

_MISLEADING = (
    # What `git rev-parse --local-env-vars` names: a caller's own repository, not ours.
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    # And what changes answers, or prints headers with credentials.
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CURL_VERBOSE",
    "GIT_DEFAULT_HASH",
    "GIT_EXTERNAL_DIFF",
    "GIT_NAMESPACE",
    "GIT_QUARANTINE_PATH",
    "GIT_TRACE",
    "GIT_TRACE2_CONFIG_PARAMS",
    "GIT_TRACE2_ENV_VARS",
    "GIT_TRACE_CURL",
    "GIT_TRACE_CURL_NO_DATA",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_PACKFILE",
    "GIT_TRACE_REDACT",
    "GIT_TRACE_SETUP",
)

_ALWAYS: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ADVICE": "0",
    # Not only unset: a configuration may turn them on, too (trace2.*). They show arguments and settings.
    "GIT_TRACE2": "0",
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
    "GIT_FLUSH": "0",  # Into a pipe, `git log` would write each of 50,000 commits by itself
}

_TRANSPORTS = ("file", "git", "http", "https", "ssh")
"""What Git may reach a server by, whatever a configuration allows: no other program is run for an address."""

_QUIET: Settings = (
    ("safe.bareRepository", "explicit"),  # a tree may hold one, with a configuration
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.autocrlf", "false"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("log.showSignature", "false"),
    ("log.mailmap", "false"),
    ("push.gpgSign", "false"),
    ("push.followTags", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.pushOption", ""),  # empty: forget those that are set elsewhere
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "60"),
)


class GitResult(NamedTuple):
    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """What it printed, without the last line's end; undecodable bytes as PEP 383 has them."""
        return self.out.decode(errors="surrogateescape").rstrip("\n")

    @property
    def why(self) -> str:
        """What it complained of first, in one line."""
        return one_line(next(iter(self.err.strip().splitlines()), "git fails").removeprefix("fatal: "))


class GitCommand:
    """``git`` in one folder, with ``environment`` and with ``settings`` over all other configuration.

    Settings are handed over by the environment, so that neither arguments nor files ever hold one.
    GitPython adds the process's own environment below; what would mislead Git is taken out of both.
    """

    def __init__(self, folder: str, environment: Mapping[str, str], settings: Settings = ()) -> None:
        self._folder = folder
        # Git reads settings from its environment: ours come after those that are there already.
        count = environment.get("GIT_CONFIG_COUNT", "")
        first = int(count) if count.isascii() and count.isdigit() else 0
        every = _QUIET + settings
        asked = environment.get("GIT_ALLOW_PROTOCOL")
        allowed = _TRANSPORTS if asked is None else [each for each in _TRANSPORTS if each in asked.split(":")]
        self._environment = {
            **environment,
            **_ALWAYS,
            "GIT_ALLOW_PROTOCOL": ":".join(allowed),
            "GIT_CONFIG_COUNT": str(first + len(every)),
        }
        for number, (key, value) in enumerate(every, first):
            self._environment[f"GIT_CONFIG_KEY_{number}"] = key
            self._environment[f"GIT_CONFIG_VALUE_{number}"] = value

    def run(self, *arguments: str, more: Mapping[str, str] | None = None, stdin: BinaryIO | None = None) -> GitResult:
        """Run ``git`` with ``arguments`` and ``more`` environment; whatever its exit code is.

        Raises UsageError where there is no Git.
        """
        without = [word for name in _MISLEADING for word in ("-u", name)]
        if (git := programs.find(self._environment.get("PATH", os.defpath), "git")) is None:
            raise _missing()
        try:
            from git.cmd import Git
            from git.exc import GitCommandNotFound
        except ImportError as error:
            raise _missing() from error
        command = Git(self._folder)
        try:
            status, out, err = command.execute(
                ["env", *without, git, *arguments],
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                kill_after_timeout=TIMEOUT,
                istream=stdin,
                env={**self._environment, **(more or {})},
            )
        except GitCommandNotFound as error:
            raise _missing() from error
        except BaseException:
            # An interrupt leaves the timer of the timeout to itself, and Python would wait for it to run out.
            for each in threading.enumerate():
                if isinstance(each, threading.Timer):
                    each.cancel()
            raise
        return GitResult(status, out, err)

    def output(self, *arguments: str) -> str:
        """What ``git`` prints; empty where it fails."""
        ran = self.run(*arguments)
        return "" if ran.status else ran.text

    def blobs(self, oids: Iterable[str], *where: str) -> dict[str, bytes]:
        """Oid → content of those that are there, in one call; ``where``: what tells Git its repository."""
        import tempfile  # late: most runs read no past

        with tempfile.TemporaryFile() as file:
            file.write("\n".join(oids).encode())
            file.seek(0)
            output = self.run(*where, "cat-file", "--batch", stdin=file).out
        found: dict[str, bytes] = {}
        at = 0
        while (end := output.find(b"\n", at)) >= 0:
            oid, _, rest = output[at:end].decode("ascii").partition(" ")
            kind, _, size = rest.partition(" ")
            at = end + 1
            if size:  # else it is missing
                content = output[at : at + int(size)]
                at += len(content) + 1
                if kind == "blob":
                    found[oid] = content
        return found


def rfc3339(seconds: int) -> str:
    """A time as Git keeps it, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def unattended(environment: Mapping[str, str]) -> dict[str, str]:
    """Nobody is there to answer: should ssh ask for something, its askpass says no."""
    return {"SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force", **environment}


def _missing() -> UsageError:
    return UsageError("git is not on PATH", hint="install git 2.38 or later, or run without --pull-request")
