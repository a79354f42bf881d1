"""The inputs of the Action, as the arguments of a command line, and checks on them. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from flux_upgrade.action.action_yml import INPUTS
from flux_upgrade.action.event import PULL_REQUEST_TARGET
from flux_upgrade.action.runner import Runner
from flux_upgrade.config.keys import GOVERNING
from flux_upgrade.manifests.options import nearest
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.policy import MaxBump

_PREFIX = "INPUT_"
_NAMES = tuple(each.name for each in INPUTS)
_OF_ROLLBACKS = ("to", "docker-config", "ca-file")  # A rollback is about a registry and nothing else
_OF_BOOTSTRAPS = ("description", "actions-secret", "actions-environment", "known-hosts")
_SWITCHES = ("create-repository", "add-workflow", "rotate-key")
_TOKENS = ("token", "release-token", "registry-password")
_NO_FLAGS = (
    *(*_OF_BOOTSTRAPS, *_SWITCHES, *_TOKENS, "mode", "path", "dry-run", "registry-username", "plain-http", "to"),
    "trust-config",
)
_FLAGS = tuple(name for name in _NAMES if name not in _NO_FLAGS)
_NOT_OF_BOOTSTRAPS = (
    *(key.name for key in GOVERNING if key.input and key.name != "flags"),
    *("allow-hosts", "approve", "promote", "to"),
)
_WITH_BOOTSTRAPS = (*("repository", "config", "release-source", "flags", "ca-file", "docker-config"), *_OF_BOOTSTRAPS)
# YAML 1.2's core schema, https://yaml.org/spec/1.2.2/#1032-tag-resolution: what a workflow's author writes.
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_CHECKOUT = "add two lines before this step: `- uses: actions/checkout@v7` and `  with: {persist-credentials: false}`"


class Secrets(NamedTuple):
    """The tokens, which are in no argument."""

    token: str
    release_token: str
    registry_password: str = ""

    def __repr__(self) -> str:
        return "Secrets()"


def arguments(env: Mapping[str, str]) -> list[str]:
    """The command line that the inputs stand for, without the program's name. Raises UsageError."""
    given = _given(env)
    mode = _one_of("mode", given.get("mode", "upgrade"), ("upgrade", "plan", "rollback", "bootstrap"))
    if "policy" in given:
        _one_of("policy", given["policy"], tuple(MaxBump))
    switches = [f"--{name}" for name in _SWITCHES if _is_true(given, name)]
    trust = ["--trust-config"] if _is_true(given, "trust-config") and mode != "rollback" else []
    if mode == "bootstrap":
        return _bootstrap(given, [*switches, *trust])
    for name in (*_OF_BOOTSTRAPS, *(each.removeprefix("--") for each in switches)):
        _refuse(given, name, "is only for mode: bootstrap")
    path, is_dry = given.get("path", "."), _is_true(given, "dry-run")
    # An argument that begins with a dash would be taken for a flag.
    argv = [mode, f"./{path}" if path.startswith("-") else path, *trust]
    if mode != "rollback" and not path.startswith(SCHEME):
        argv.append("--pull-request")
    if mode != "plan" and is_dry:
        argv.append("--dry-run")
    if _is_true(given, "plain-http"):
        argv.append("--plain-http")
    if "registry-username" in given:
        argv.append(f"--username={given['registry-username']}")
    if mode != "rollback":
        _refuse(given, "to", "is only for mode: rollback", "approve a version with the input approve")
    flags = _OF_ROLLBACKS if mode == "rollback" else _FLAGS
    return [*argv, *(f"--{name}={given[name]}" for name in flags if name in given)]


def _bootstrap(given: Mapping[str, str], switches: list[str]) -> list[str]:
    """A bootstrap works on the branch as it is on the server: the checkout has the config file, no more."""
    for name in _NOT_OF_BOOTSTRAPS:
        _refuse(given, name, "is not for mode: bootstrap", "set the version in flags: version=v2.9.4")
    path = given.get("path", ".")
    argv = ["bootstrap", ".", *switches]
    if path.startswith(SCHEME):
        argv += ["--source=oci", f"--url={path}"]
    else:
        argv += ["--pull-request", *([f"--path={path}"] if path != "." else [])]
    argv += ["--dry-run"] if _is_true(given, "dry-run") else []
    argv += ["--allow-insecure-http=true"] if _is_true(given, "plain-http") else []
    for name, flag in (("base", "branch"), ("registry-username", "username")):
        argv += [f"--{flag}={given[name]}"] if name in given else []
    return [*argv, *(f"--{name}={given[name]}" for name in _WITH_BOOTSTRAPS if name in given)]


def _refuse(given: Mapping[str, str], name: str, why: str, hint: str = "remove it") -> None:
    if name in given:
        raise UsageError(f"the input {name} {why}", hint=hint)


def secrets(env: Mapping[str, str], runner: Runner) -> Secrets:
    """The tokens. That of an Enterprise Server is not sent to github.com."""
    given = _given(env)
    token = given.get("token", "")
    release = given.get("release-token", token if runner.is_github else "")
    return Secrets(token, release, given.get("registry-password", ""))


def unknown(env: Mapping[str, str]) -> tuple[str, ...]:
    """A warning for each input that there is not; the runner passes whatever a workflow gives."""
    names = (_name(variable) for variable in sorted(env) if variable.startswith(_PREFIX))
    return tuple(f"there is no input '{name}'{nearest(name, _NAMES)}" for name in names if name not in _NAMES)


def check(env: Mapping[str, str], runner: Runner, *, has_checkout: bool) -> None:
    """Refuse what cannot go well. Raises UsageError.

    ``has_checkout``: whether the input ``path`` lies in a Git repository.
    """
    if not runner.workspace:
        raise UsageError(
            "this is no run of GitHub Actions: GITHUB_WORKSPACE is not set",
            hint="use `flux-upgrade upgrade --pull-request` outside of GitHub Actions",
        )
    given = _given(env)
    path = given.get("path", ".")
    is_bootstrap = given.get("mode") == "bootstrap"
    needs_no_checkout = path.startswith(SCHEME) or is_bootstrap
    if not needs_no_checkout:
        inside(runner.workspace, path)
    if "token" not in given:
        raise UsageError(
            "the input token is empty",
            hint="check that the secret exists and that this event can read it; or remove the input to use "
            "GITHUB_TOKEN",
        )
    mode = given.get("mode", "upgrade")
    if runner.event == PULL_REQUEST_TARGET and mode in ("bootstrap", "rollback"):
        raise UsageError(
            f"a run for a {PULL_REQUEST_TARGET} event acts on one pull request: mode cannot be {mode}",
            hint="run it on workflow_dispatch",
        )
    writes = mode != "plan" and not _is_true(given, "dry-run")
    if writes and runner.event == "pull_request":
        raise UsageError(
            "a run for a pull_request event opens no pull requests and moves no tags: "
            "it has the merge of another one checked out",
            hint="run it on schedule, workflow_dispatch or push; on pull_request use `mode: plan` or `dry-run: true`",
        )
    if not has_checkout and not needs_no_checkout:
        raise UsageError("there is no checkout in the workspace", hint=_CHECKOUT)


def inside(workspace: str, path: str) -> str:
    """``path``, absolute, if it is in the workspace. Raises UsageError.

    Links are not looked at: ask again with the path that they lead to.
    """
    whole = posixpath.normpath(posixpath.join(workspace, path))
    if whole != workspace and not whole.startswith(f"{workspace.rstrip('/')}/"):
        raise UsageError(
            f"the input path is outside of the workspace: '{path}'",
            hint="make it relative to the workspace; a container does not know `github.workspace`",
        )
    return whole


def in_inputs(text: str) -> str:
    """A message that speaks of flags, for somebody who gave inputs."""
    for flag, name in (("--username", "registry-username"), ("--password-stdin", "registry-password")):
        text = text.replace(flag, f"--{name}")
    # Of a rollback; the --to of `upgrade` is no input.
    text = text.replace("to go back to with --to", "to go back to with input `to`")
    names = "|".join(name for name in _NAMES if name != "to")
    return re.sub(rf"(`?)--({names})\b(?!-)\1", r"input `\2`", text)


def _given(env: Mapping[str, str]) -> dict[str, str]:
    """Inputs that have a value, by name."""
    # The runner's own spelling comes last: where both are set, it counts.
    variables = sorted((each for each in env if each.startswith(_PREFIX)), key=lambda each: "-" in each)
    values = {_name(variable): env[variable].strip() for variable in variables}
    return {name: value for name, value in values.items() if value and name in _NAMES}


def _name(variable: str) -> str:
    """The runner keeps hyphens; whoever sets a variable in a shell cannot."""
    return variable.removeprefix(_PREFIX).lower().replace("_", "-")


def _is_true(given: Mapping[str, str], name: str) -> bool:
    asked = given.get(name, "false")
    if asked not in _BOOLEANS:
        raise UsageError(f"the input {name} must be true or false, not '{asked}'", hint="set it to true or false")
    return _BOOLEANS[asked]


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise UsageError(
            f"the input {name} cannot be '{value}'{nearest(value, known)}", hint=f"use one of {', '.join(known)}"
        )
    return value
