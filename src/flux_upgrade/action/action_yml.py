"""What ``action.yml`` and the documentation say: inputs, outputs, and the outcomes of a run."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from flux_upgrade.config.keys import TOP
from flux_upgrade.model.values import NamedTuple

REPORT_FILE = "flux-upgrade-report.json"
"""Name of the whole report, in the directory that later steps know as ``runner.temp``."""


class Input(NamedTuple):
    name: str
    description: str  # One line, with its vocabulary and what happens where it is not given
    default: str = ""
    """As ``action.yml`` has it. Where the config file has a say, there is none: an input overrides it."""


class Output(NamedTuple):
    name: str
    description: str


_OF_KEYS = {key.name: Input(key.name, key.input) for key in TOP.keys if key.input}
"""Inputs of keys of the config file, as their rows have them; what has no place between others comes last."""
INPUTS = (
    Input(
        "mode",
        "`upgrade` opens, updates and closes pull requests, or promotes an artifact. `plan` only shows what `upgrade` "
        "would do. `rollback` moves an artifact's tag back. `bootstrap` sets up Flux in a repository.",
        "upgrade",
    ),
    Input(
        "path",
        "The file or directory with Flux, relative to the workspace, or an artifact with Flux "
        "(`oci://HOST/REPOSITORY:TAG`). With `mode: bootstrap`: the directory for the cluster's manifests (Flux's "
        "flag `path`), or the artifact to create.",
        ".",
    ),
    _OF_KEYS.pop("policy"),
    _OF_KEYS.pop("range"),
    Input(
        "approve",
        "A minor (`2.9`, with its later patches) or an exact version (`v2.9.4`) to approve in every cluster. With the "
        "name of a group or cluster, only there: `staging=2.9`. With an artifact's tag, `+migrated` says that `flux "
        "migrate` ran: `production=2.9+migrated`. Several are separated by commas. Default: none.",
    ),
    Input("config", "The config file, relative to the workspace. Default: `.github/flux-upgrade.yaml` if it exists."),
    Input(
        "trust-config",
        "`true` or `false`: also use `extends`, `accounts`, `allow-hosts`, `bootstrap` and `known` of a config file "
        "that is not known to be on the default branch. Never set it where a pull request may be checked out.",
        "false",
    ),
    Input(
        "token",
        "The token for the repository: `GITHUB_TOKEN`, a GitHub App token or a personal access token. "
        "It needs write access to `contents`, `pull-requests`, `issues` and `statuses`.",
        "${{ github.token }}",
    ),
    Input(
        "release-source",
        "The source of Flux releases: `github`, an http(s) URL, a directory, "
        "or a copy of Flux's artifacts (`oci://registry.example.com/fluxcd/flux-manifests`).",
        "github",
    ),
    Input(
        "release-token",
        "The token for Flux releases on github.com. Default: `token` on github.com, none on GitHub Enterprise Server.",
    ),
    Input("base", "The target branch of pull requests. Default: the repository's default branch."),
    _OF_KEYS.pop("flags"),
    Input("dry-run", "`true` or `false`: show what would happen, but write nothing.", "false"),
    Input("repository", "The repository for pull requests, `owner/name`. Default: the workflow's repository."),
    Input("ca-file", "A PEM file with additional trusted CA certificates, relative to the workspace. Default: none."),
    _OF_KEYS.pop("allow-hosts"),
    Input(
        "promote",
        "How an artifact is promoted: `tag` moves its tag, `pull-request` changes its reference in the "
        "checkout. Default: derived from the checkout, or `tag`.",
    ),
    Input("registry-username", "The user name for the artifact's registry. Default: the one in `docker-config`."),
    Input("registry-password", "The password or token for `registry-username`. Default: none."),
    Input(
        "docker-config",
        "A Docker `config.json` with credentials for registries and chart repositories, relative to the workspace. "
        "Default: none, because "
        "the container cannot read the runner's file.",
    ),
    Input("plain-http", "`true` or `false`: connect to the artifact's registry over http instead of https.", "false"),
    Input("to", "The tag or digest that `mode: rollback` moves the tag to. Default: the previous digest."),
    Input(
        "create-repository",
        "`true` or `false`: for `mode: bootstrap`, create the repository if it does not exist.",
        "false",
    ),
    Input("description", "The description of a created repository. Default: none."),
    Input(
        "add-workflow",
        "`true` or `false`: for `mode: bootstrap`, add the workflow that upgrades Flux. "
        "`token` needs write access to workflows, which `GITHUB_TOKEN` cannot have.",
        "false",
    ),
    Input(
        "actions-secret",
        "For `mode: bootstrap`: the GitHub Actions secret that receives the cluster's credentials. "
        "Default: none is created, and the pull request shows what to do.",
    ),
    Input(
        "actions-environment",
        "The environment of `actions-secret`. Default: none, so the secret belongs to the repository.",
    ),
    Input(
        "rotate-key",
        "`true` or `false`: for `mode: bootstrap`, create a new deploy key and store the credentials again.",
        "false",
    ),
    Input(
        "known-hosts",
        "For `mode: bootstrap` on a GitHub Enterprise Server, with `actions-secret`: a file with its SSH "
        "host keys, relative to the workspace. Default: the keys that github.com publishes.",
    ),
    *_OF_KEYS.values(),
)

OUTPUTS = (
    Output("outcome", "What the run did: `none`, `opened`, `updated`, `closed`, `held` or `failed`."),
    Output("current-version", "The installed version, like `v2.8.7`. Empty if installations differ."),
    Output(
        "target-version",
        "The proposed version that needs no approval. Empty if there is none, or if installations differ.",
    ),
    Output("pending-version", "The version that needs approval. Empty if there is none, or if installations differ."),
    Output("pull-request-number", "The number of the pull request. Empty if there is none, or more than one."),
    Output("pull-request-url", "The URL of the pull request. Empty if there is none, or more than one."),
    Output(
        "pull-requests",
        "All pull requests, as a JSON list of objects with `number`, `url`, `operation` and `target`. "
        "In a run that writes nothing, `operation` is what flux-upgrade would do.",
    ),
    Output(
        "artifact",
        "The artifact that was promoted, or that needs a signature or approval: `HOST/REPOSITORY:TAG` with its "
        "immutable tag. After a rollback: `HOST/REPOSITORY@DIGEST`. Empty if there is none, or if nothing was "
        "written.",
    ),
    Output("digest", "The digest of `artifact`, to sign it. Empty if it was not read."),
    Output("report", "The report as JSON, without diffs. Empty if it is larger than GitHub's limit."),
    Output("report-file", "The name of the file with the complete report as JSON, in the directory `runner.temp`."),
)


class Outcome(StrEnum):
    """What came of a run, or of a part of it; the later, the graver."""

    NONE = "none"
    HELD = "held"
    CLOSED = "closed"
    UPDATED = "updated"
    OPENED = "opened"
    FAILED = "failed"


OUTCOMES = {
    Outcome.NONE: "There was nothing to do.",
    Outcome.HELD: "An upgrade needs your action or a later date, and there was nothing else to do. "
    "With `mode: plan` or `dry-run: true`, also: flux-upgrade would change something.",
    Outcome.CLOSED: "A pull request that is no longer needed was closed.",
    Outcome.UPDATED: "A pull request was changed, the tag of an artifact was moved, or files were pushed.",
    Outcome.OPENED: "A pull request was opened.",
    Outcome.FAILED: "At least one action failed. All others were completed.",
}


def most_severe(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of the whole; of nothing, none."""
    return max(outcomes, key=list(Outcome).index, default=Outcome.NONE)


def reference() -> str:
    inputs = "\n".join(
        f"| `{each.name}` | {_cell(each.description)} | {f'`{each.default}`' if each.default else ''} |"
        for each in INPUTS
    )
    outputs = "\n".join(f"| `{each.name}` | {_cell(each.description)} |" for each in OUTPUTS)
    outcomes = "\n".join(f"| `{each}` | {OUTCOMES[each]} |" for each in Outcome)
    return (
        f"## Inputs\n\n| Input | What it is | Default |\n| --- | --- | --- |\n{inputs}\n\n"
        f"## Outputs\n\n| Output | What it is |\n| --- | --- |\n{outputs}\n\n"
        "## Outcomes\n\nOf several, `outcome` is the last in this table.\n\n"
        f"| Outcome | What it means |\n| --- | --- |\n{outcomes}\n"
    )


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
