"""What ``action.yml`` and the documentation say: inputs, outputs, and the outcomes of a run."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from flux_upgrade.config.keys import GOVERNING

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


_OF_KEYS = {key.name: Input(key.name, key.input) for key in GOVERNING if key.input}
"""Inputs of keys of the config file, as their rows have them; what has no place between others comes last."""
INPUTS = (
    Input(
        "mode",
        "`upgrade` opens, updates and closes pull requests, or takes an artifact on; `plan` shows what it "
        "would do; `rollback` takes the tag of an artifact back; `bootstrap` sets Flux up in a repository.",
        "upgrade",
    ),
    Input(
        "path",
        "File or directory in which Flux is looked for, relative to the workspace; or an artifact that holds "
        "Flux, `oci://HOST/REPOSITORY:TAG`. With `mode: bootstrap`, Flux's own flag `path`: where in the "
        "repository the cluster's manifests are to be; or the artifact that is made.",
        ".",
    ),
    _OF_KEYS.pop("policy"),
    _OF_KEYS.pop("range"),
    Input(
        "approve",
        "A minor (`2.9`, with its later patches) or one version (`v2.9.4`) that a person lets through. Default: none.",
    ),
    Input(
        "config", "The config file, relative to the workspace. Default: `.github/flux-upgrade.yaml`, if it is there."
    ),
    Input(
        "token",
        "For the repository: the job's own token, an App's, or a personal access token. "
        "It needs to write `contents`, `pull-requests`, `issues` and `statuses`.",
        "${{ github.token }}",
    ),
    Input(
        "release-source",
        "Where Flux's releases come from: `github`, an http(s) address, a directory, "
        "or a copy of Flux's own artifacts (`oci://registry.example.com/fluxcd/flux-manifests`).",
        "github",
    ),
    Input(
        "release-token",
        "For Flux's releases on github.com. Default: `token` on github.com, nothing on a GitHub Enterprise Server.",
    ),
    Input("base", "Branch that pull requests go into. Default: the repository's default branch."),
    _OF_KEYS.pop("flags"),
    Input("dry-run", "`true` or `false`: decide all and write nothing.", "false"),
    Input("repository", "The repository with the pull requests, `owner/name`. Default: the one of the workflow."),
    Input(
        "ca-file", "Certificates (PEM) that are trusted besides the usual, relative to the workspace. Default: none."
    ),
    Input(
        "promote",
        "How an artifact is promoted: `tag` moves its tag, `pull-request` changes what pins it in the "
        "checkout. Default: what the checkout says, else `tag`.",
    ),
    Input("registry-username", "For the registry of the artifact. Default: what `docker-config` has for it."),
    Input("registry-password", "The password or token for `registry-username`. Default: none."),
    Input(
        "docker-config",
        "A Docker `config.json` with credentials for registries, relative to the workspace. Default: none; "
        "a container does not see the runner's own.",
    ),
    Input("plain-http", "`true` or `false`: talk to the artifact's registry over http, not https.", "false"),
    Input("to", "A tag or a digest that `mode: rollback` takes the tag back to. Default: what it stood for before."),
    Input(
        "create-repository",
        "`true` or `false`: for `mode: bootstrap`, create the repository if it is not there.",
        "false",
    ),
    Input("description", "Of a repository that is created. Default: none."),
    Input(
        "add-workflow",
        "`true` or `false`: for `mode: bootstrap`, add the workflow that keeps Flux current. "
        "`token` has to be one that may write workflows; the job's own never may.",
        "false",
    ),
    Input(
        "actions-secret",
        "For `mode: bootstrap`: a secret of GitHub Actions, in the repository that is set up, that the "
        "cluster's credentials go into. Default: none are made, and the pull request says what to do.",
    ),
    Input(
        "actions-environment",
        "The environment that `actions-secret` belongs to. Default: none, it is the repository's.",
    ),
    Input(
        "rotate-key",
        "`true` or `false`: for `mode: bootstrap`, create another deploy key, and seal the credentials again.",
        "false",
    ),
    Input(
        "known-hosts",
        "For `mode: bootstrap` on a GitHub Enterprise Server, with `actions-secret`: a file with its SSH "
        "host keys, relative to the workspace. Default: those that github.com publishes.",
    ),
    *_OF_KEYS.values(),
)

OUTPUTS = (
    Output("outcome", "What the run did: `none`, `opened`, `updated`, `closed`, `held` or `failed`."),
    Output("current-version", "The version that runs, like `v2.8.7`; empty where installations differ."),
    Output(
        "target-version",
        "The version that is proposed and needs no approval; empty where there is none, or installations differ.",
    ),
    Output("pending-version", "The version that needs approval; empty if there is none, or if installations differ."),
    Output("pull-request-number", "Number of the pull request; empty where there is none, or more than one."),
    Output("pull-request-url", "Its address; empty where there is none, or more than one."),
    Output(
        "pull-requests",
        "All of them, as a JSON list of objects with `number`, `url`, `operation` and `target`; "
        "in a run that writes nothing, `operation` is what would be done.",
    ),
    Output(
        "artifact",
        "The artifact that was promoted, or that waits for a signature or an approval, as "
        "`HOST/REPOSITORY:TAG` with its immutable tag, after a rollback as `HOST/REPOSITORY@DIGEST`; empty "
        "where there is none, or nothing was written.",
    ),
    Output("digest", "The digest of `artifact`, for what signs it; empty where it was not looked at."),
    Output("report", "The report as JSON, without diffs; empty where it is larger than GitHub takes."),
    Output("report-file", "Name of the file with the whole report as JSON, in the directory `runner.temp`."),
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
    Outcome.NONE: "Nothing had to be done: up to date, or all is as it was.",
    Outcome.HELD: "Something waits for a person or for a day, and nothing else had to be done. "
    "With `mode: plan` or `dry-run: true` also: something would be done.",
    Outcome.CLOSED: "A pull request that nobody needs any more was closed.",
    Outcome.UPDATED: "A pull request was changed, the tag of an artifact was moved, or files were pushed.",
    Outcome.OPENED: "A pull request was opened.",
    Outcome.FAILED: "Something went wrong; all the rest was done.",
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
