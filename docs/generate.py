"""``make docs``: what the code knows best is written from it.

That is most of docs/reference, and what is below three kinds of lines:
``<!-- report: CASE -->`` (of ``tests/cases``), ``<!-- pull-request: CASE -->`` (of
``tests/pull_requests``), ``<!-- example: FILE -->`` (of ``examples``). ``--check``
writes nothing, and fails where a page is not current.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from pathlib import Path

from config_reference import reference, schema

from flux_upgrade import main as cli
from flux_upgrade.action import action_yml
from flux_upgrade.bootstrap.flag_table import FlagGroup
from flux_upgrade.bootstrap.workflow_file import ACTION
from flux_upgrade.cli.flag_kinds import BOOL
from flux_upgrade.cli.parse import build_parser
from flux_upgrade.cli.sections import HELP
from flux_upgrade.commands import output
from flux_upgrade.impact.behaviour.rules import Span
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model import errors
from flux_upgrade.model.exit_code import ExitCode
from flux_upgrade.model.markdown import code, plain
from flux_upgrade.pins.objects import operator_table
from flux_upgrade.policy.decision import ChangeKind
from flux_upgrade.policy.hold_reasons import HoldReason

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

import txtar  # noqa: E402 the path is set above

_REPORT = re.compile(r"(?<=<!-- report: )([a-z0-9-]+)( -->\n```\n)(?:.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
_EXAMPLE = re.compile(r"(?<=<!-- example: )([a-z.-]+)( -->\n```yaml\n)(?:.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
_PULL_REQUEST = re.compile(
    r"(?<=<!-- pull-request: )([a-z0-9-]+)( -->\n)(?:.*?)(?=^<!-- /pull-request -->$)", re.DOTALL | re.MULTILINE
)
GENERATED = "<!-- Written by `make docs`: change the code, not this page. -->\n"

NEVER_MET = (errors.DraftsUnavailable, errors.LimitReached)
"""Errors that end no run: an issue is opened instead."""

ENVIRONMENT = (
    (
        "GITHUB_TOKEN, GH_TOKEN",
        (
            "Token for pull requests on GitHub, sent only to the repository's API. On github.com, it also reads the "
            "list of releases, which needs no token."
        ),
    ),
    ("FLUX_UPGRADE_RELEASE_TOKEN", "Token for the API that serves Flux's releases, if it needs a different one."),
    (
        "GITHUB_API_URL, GITHUB_GRAPHQL_URL, GITHUB_SERVER_URL",
        (
            "Addresses of a GitHub Enterprise Server, as its runner sets them: `https://HOST/api/v3`, "
            "`https://HOST/api/graphql`, `https://HOST`. The default is github.com."
        ),
    ),
    (
        "FLUX_UPGRADE_REGISTRY_PASSWORD",
        ("Password or token for `--username`, sent to the registry of the artifact. `--password-stdin` overrides it."),
    ),
    ("DOCKER_CONFIG", "Directory of the `config.json` with registry credentials. The default is `~/.docker`."),
    (
        "HELM_REPOSITORY_CONFIG, HELM_REGISTRY_CONFIG, HELM_CONFIG_HOME, XDG_CONFIG_HOME",
        (
            "Helm's `repositories.yaml` and `registry/config.json` with credentials for chart repositories, as Helm "
            "finds them. The default is `~/.config/helm`."
        ),
    ),
    ("FLUX_UPGRADE_TOKEN", "Token for any other Git server. Without it, Git uses its credential helpers and keys."),
    (
        "GITLAB_TOKEN, GITEA_TOKEN, BITBUCKET_TOKEN, GIT_PASSWORD",
        (
            "For `bootstrap`: your token for that provider, used to push. `flux bootstrap` reads the same "
            "variables. Flux in the cluster never gets this token."
        ),
    ),
    (
        "FLUX_UPGRADE_SYNC_TOKEN",
        (
            "For `bootstrap --token-auth`: the token that Flux in the cluster uses to log in. A job's token "
            "(`ghs_…`) is refused, because it expires with the job."
        ),
    ),
    (
        "FLUX_UPGRADE_APP_PRIVATE_KEY",
        "For `bootstrap --app-id`: the private key of the GitHub App, in PEM. `--app-private-key` overrides it.",
    ),
    (
        "FLUX_UPGRADE_CLUSTER_USERNAME, FLUX_UPGRADE_CLUSTER_PASSWORD",
        "For `bootstrap --source=oci`: credentials for the cluster. Use credentials that can only read its artifacts.",
    ),
    ("KUBECONFIG", "For `bootstrap --context`: the kubeconfig file, if you do not set `--kubeconfig`."),
    (
        "GITHUB_ACTIONS",
        "If it is `true`, `check` and `migrate` write annotations that GitHub shows on the affected lines.",
    ),
    (
        "FLUX_UPGRADE_TRUSTED_BRANCH",
        "In a CI: a branch whose [config file counts in full](network.md#the-config-file-in-ci), as the default branch.",
    ),
    (
        (
            "CI, BITBUCKET_BUILD_NUMBER, BITBUCKET_PR_ID, BUILDKITE, CIRCLECI, CI_MERGE_REQUEST_IID, CI_REPO, "
            "CODEBUILD_BUILD_ID, DRONE, GITHUB_EVENT_NAME, GITLAB_CI, JENKINS_URL, PROW_JOB_ID, SEMAPHORE, "
            "TEAMCITY_VERSION, TF_BUILD, TRAVIS"
        ),
        (
            "Set by CIs. In a CI, some keys of the config file count only "
            "[on the default branch](network.md#the-config-file-in-ci)."
        ),
    ),
    (
        (
            "BITBUCKET_REPO_FULL_NAME, BUILDKITE_REPO, BUILD_REPOSITORY_URI, CIRCLE_REPOSITORY_URL, CI_PROJECT_URL, "
            "CODEBUILD_SOURCE_REPO_URL, DRONE_REPO, GITHUB_REPOSITORY, TRAVIS_REPO_SLUG"
        ),
        "Set by CIs. They name the repository. The config file of another one is not trusted.",
    ),
    (
        (
            "BUILDKITE_PIPELINE_DEFAULT_BRANCH, CI_DEFAULT_BRANCH, CI_REPO_DEFAULT_BRANCH, DRONE_REPO_BRANCH, "
            "GITHUB_EVENT_PATH, GITHUB_REF"
        ),
        "Set by CIs. They name the default branch.",
    ),
    (
        "CI_SERVER_HOST, GITEA_ACTIONS, FORGEJO_ACTIONS",
        "Set by the runners of GitLab, Gitea and Forgejo. They identify the server.",
    ),
    (
        "GIT_*, SSH_*",
        (
            "For any other Git server: passed to Git and SSH. Variables that select another repository, such as "
            "`GIT_DIR`, are not passed."
        ),
    ),
    (
        "FLUX_UPGRADE_WORKSPACE",
        (
            "Set in the image: a directory where another user may own the checkout. It is read with nothing of its "
            "Git configuration. Elsewhere, Git refuses such a checkout, unless `safe.directory` has it."
        ),
    ),
    ("GITHUB_WORKSPACE", "For `check` and `migrate`, the repository that PATH is a part of, if it is no Git checkout."),
    ("XDG_CACHE_HOME, HOME", "Downloads are cached in `$XDG_CACHE_HOME/flux-upgrade` or `~/.cache/flux-upgrade`."),
    ("PATH", "Used to find `git`, and a `flux` binary if a release is newer than the known rules."),
    (
        "HTTPS_PROXY, HTTP_PROXY, NO_PROXY, REQUESTS_CA_BUNDLE",
        "Proxy and CA settings, as the Python library requests reads them.",
    ),
    ("FLUX_UPGRADE_DEBUG", "If it has any value, an unexpected error shows its traceback."),
)
RUNNER = (
    ("INPUT_*", "Inputs, as the runner passes them: `INPUT_DRY-RUN`, or `INPUT_DRY_RUN` from a shell."),
    ("GITHUB_WORKSPACE", "Directory of the checkout. `path` must be in it."),
    ("GITHUB_REPOSITORY", "Repository of the pull requests. The input `repository` overrides it."),
    ("GITHUB_API_URL, GITHUB_GRAPHQL_URL, GITHUB_SERVER_URL", "Addresses of the GitHub server."),
    (
        "GITHUB_EVENT_NAME",
        "`pull_request`: nothing is opened. `pull_request_target`: only its cluster or group is acted on.",
    ),
    ("GITHUB_EVENT_PATH", "File that has the pull request of `pull_request_target`."),
    ("GITHUB_WORKFLOW_REF", "Workflow shown in the command for an approval."),
    ("GITHUB_OUTPUT, GITHUB_STEP_SUMMARY", "Files for the outputs and the job summary."),
    ("RUNNER_TEMP", "Directory of the report file."),
    (
        "GITHUB_ACTION_REPOSITORY, GITHUB_ACTION_REF, FLUX_UPGRADE_VERSION",
        "What a workflow that `add-workflow` adds runs. The image has the last one.",
    ),
)

# What upgrade does with a file of each verdict. A verdict without a line here fails the generation.
AFTER = {
    Verdict.EXACT: "Replaces the file with the manifest of the target release.",
    Verdict.IMAGES: "Replaces Flux's tags with those of the release. Keeps a custom registry or tag. Replaces a digest "
    "with that of the new tag, as the registry reports it.",
    Verdict.FORMATTING: "Writes Flux's format. Keeps line endings, a byte order mark and a missing final newline.",
    Verdict.EDITED: "Applies each edit to the target release. If an edit conflicts, holds the upgrade and shows the conflict.",
    Verdict.UNVERIFIED: "Does not change the file.",
    Verdict.UNREADABLE: "Does not change the file.",
}


_COMPLETION = """\
```sh
eval "$(flux-upgrade completion bash)"   # ~/.bashrc
eval "$(flux-upgrade completion zsh)"    # ~/.zshrc, after compinit
flux-upgrade completion fish | source    # ~/.config/fish/config.fish
```"""


def cli_page() -> str:
    """Every command with every flag."""
    parts = [
        "# Commands and flags",
        (
            "This page is for you if you look for a command or an option. It lists all of them, and the environment "
            "variables."
        ),
        "```sh\nflux-upgrade upgrade --help-all\n```",
        (
            "`flux-upgrade` lists the commands. `flux-upgrade COMMAND --help` shows the usual options, and `--help-all` shows all of them. Options can come before or after "
            "the path, and cannot be abbreviated. `flux-upgrade --version` shows the version. Each run ends with "
            "an [exit code](exit-codes.md)."
        ),
        *_commands(),
        "## Shell completion",
        "To complete commands, options and their values with Tab, add one line to the startup file of your shell:",
        _COMPLETION,
        "## Environment",
        _table(("Variable", "Use"), [(_codes(name), use) for name, use in ENVIRONMENT]),
    ]
    return _page(parts)


def _commands() -> Iterator[str]:
    for action in build_parser()._actions:  # noqa: SLF001 argparse offers no other way to its flags
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 as above
            for name, parser in action.choices.items():
                yield f"## flux-upgrade {name}"
                yield f"{parser.description}"
                yield from _sections(parser)


def _sections(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The arguments of a command, under the headings of its help; those without a use have one to link to."""
    for section in parser._action_groups:  # noqa: SLF001 argparse offers no other way to them
        flags = section._group_actions  # noqa: SLF001 as above
        if flags and section.title != HELP:
            yield f"### {section.title}" if section.title == FlagGroup.UNUSED else f"**{section.title}**"
            yield _table(("Argument", "Meaning"), [(_spelling(flag), flag.help or "") for flag in flags])


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        more = "..." if action.nargs == "*" else ""
        return f"`[{action.metavar}{more}]`" if action.nargs in ("?", "*") else f"`{action.metavar}`"
    value = "|".join(action.choices) if action.choices else str(action.metavar or action.dest.upper())
    shown = "" if action.nargs == 0 else f"[={value}]" if action.nargs == "?" or value == BOOL else f"={value}"
    short = [f"`{each}`, " for each in action.option_strings if not each.startswith("--")]
    return "".join([*short, f"`{action.option_strings[-1]}{shown}`"])


def exit_codes_page() -> str:
    """The classes with the names in each, then one line for each name."""
    every = errors_with_codes()
    meanings = docstrings(ExitCode)
    names = {code: ", ".join(f"`{each.slug}`" for each in every if each.exit_code is code) for code in ExitCode}
    rows = [(int(code), meanings[code], names[code]) for code in ExitCode]
    rows.append((129, "The terminal of the run was closed (SIGHUP).", ""))
    rows.append((cli.INTERRUPTED, "You interrupted the run (Ctrl-C).", ""))
    rows.append(
        (output.READER_GONE, "The program that reads the report stopped reading it, as `head` does (SIGPIPE).", "")
    )
    rows.append((143, "Another program stopped the run (SIGTERM).", ""))
    order = ", ".join(str(code) for code in ExitCode if code)
    return _page(
        [
            "# Exit codes",
            (
                "This page is for you if a script or a pipeline decides by the exit code. It lists every code, the names "
                "of the errors in it, and their meanings."
            ),
            '```sh\nflux-upgrade upgrade || echo "exit code $?"\n```',
            (
                "An exit code is a class of errors. An error is a line on stderr, `flux-upgrade: <what happened> "
                "[<name>]`. The name tells which error of the class it is. A line `Try: …` with the next step follows. A "
                "config file has one line for each problem. A [hold](hold-reasons.md) exits with 0 unless its row shows "
                "another code."
            ),
            _table(("Code", "Meaning", "Names"), [(str(code), text, listed) for code, text, listed in sorted(rows)]),
            (
                "If several installations or pull requests fail, flux-upgrade finishes the others. It then exits with "
                f"the first of these codes that applies: {order}."
            ),
            (
                "`inspect` exits with 0 unless a file is unreadable or nothing is found. `plan` exits with 0 even if "
                "it would hold an installation."
            ),
            "## Names",
            _table(
                ("Name", "Meaning", "Code"),
                [(f"`{each.slug}`", str(inspect.getdoc(each)), str(each.exit_code)) for each in every],
            ),
        ]
    )


def errors_with_codes() -> list[type[errors.FluxUpgradeError]]:
    """The error classes that a user can meet, by name."""
    classes = [
        each
        for _, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, errors.FluxUpgradeError) and each not in (errors.FluxUpgradeError, *NEVER_MET)
    ]
    return sorted(classes, key=lambda each: each.slug)


def verification_results_page() -> str:
    """What verification can find."""
    meanings = docstrings(Verdict)
    return _page(
        [
            "# Verification results",
            (
                "This page is for you if `inspect` shows a status for your manifest. You find what it means, and what "
                "`upgrade` does with the file."
            ),
            "```sh\nflux-upgrade inspect\n```",
            (
                "flux-upgrade generates your manifest again, at its release and with the flags in it. It compares the "
                "result with your file. The difference is the status."
            ),
            _table(
                ("Status", "How your file differs from the generated manifest", "What `upgrade` does"),
                [(f"`{each}`", meanings[each], AFTER[each]) for each in Verdict],
            ),
        ]
    )


def hold_reasons_page() -> str:
    """Why an installation can be left as it is."""
    return _page(
        [
            "# Hold reasons",
            (
                "This page is for you if an upgrade is held. Find the reason from your terminal, job summary, pull request "
                "or JSON report. Its row tells you what to do next."
            ),
            "```sh\nflux-upgrade plan\n```",
            (
                "When flux-upgrade cannot or should not upgrade an installation, it holds it for one of these reasons. "
                "Other installations are not affected."
            ),
            "## You must act",
            "These holds stay until you do what the third column says.",
            _holds(is_wait=False),
            "## Nothing to do",
            "These holds end by themselves, or follow your settings or an earlier decision.",
            _holds(is_wait=True),
        ]
    )


def _holds(*, is_wait: bool) -> str:
    reasons = [each for each in HoldReason if each.effect.is_wait == is_wait]
    head = "To upgrade anyway" if is_wait else "To unblock"
    return _table(
        ("Reason", "Meaning", head, "Exit code"),
        [(f"`{each}`", each.meaning, each.remedy, each.exit_codes) for each in reasons],
    )


def docstrings(enum: type[Enum]) -> dict[Enum, str]:
    """Member → the docstring below it, which Python itself forgets."""
    (body,) = ast.parse(inspect.getsource(enum)).body
    assert isinstance(body, ast.ClassDef)
    meanings = {}
    for member, below in zip(body.body, body.body[1:], strict=False):
        match member, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                meanings[enum[name]] = " ".join(text.split())
    return meanings


def _codes(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _page(parts: list[str]) -> str:
    return f"{GENERATED}\n" + "\n\n".join(parts) + "\n"


def action_page() -> str:
    """Inputs, outputs and outcomes of the Action, and what it takes from the runner."""
    return _page(
        [
            "# The Action",
            (
                "This page is for you if you look for an input, an output or an outcome of the Action. To set it up, see "
                "[Use the Action](../how-to/use-the-action.md)."
            ),
            f"```yaml\n      - uses: {ACTION}\n        with:\n          approve: v2.9.4\n```",
            (
                "An input overrides the "
                "[config file](config.md), which has all other settings. A step ends with an "
                "[exit code](exit-codes.md), as every command does."
            ),
            action_yml.reference().rstrip("\n"),
            "## Environment",
            (
                "The Action reads these variables of the runner, in addition to [those of every command]"
                "(cli.md#environment). To run `flux-upgrade action` elsewhere, set them yourself."
            ),
            _table(("Variable", "Use"), [(_codes(name), use) for name, use in RUNNER]),
        ]
    )


def config_page() -> str:
    """Every key of the config file."""
    meanings = docstrings(ChangeKind)
    return _page(
        [
            reference(),
            "## Changes",
            "`needs-approval` accepts these values.",
            _table(("Change", "What a release does"), [(f"`{each}`", meanings[each]) for each in ChangeKind]),
        ]
    )


def breaks_page() -> str:
    """What changed without a schema that says so."""
    rows: list[tuple[str, ...]] = [
        (
            "; ".join(map(_releases, row.spans)),
            f"[`{row.slug}`]({row.source})",
            ", ".join(row.kinds),
            plain(row.change),
            " ".join(filter(None, (code(row.keep) if row.keep else "", plain(row.hint)))),
        )
        for row in reversed(BREAK_RULES)
    ]
    return _page(
        [
            "# Changes in behavior",
            (
                "This page is for you if a report lists a change in behavior, or if you review a minor. Each row says "
                "which resources it concerns, and how you keep the old behavior. The schemas of these resources do not "
                "show the change."
            ),
            "```sh\nflux-upgrade plan --details\n```",
            (
                "`plan`, `upgrade` and `check` look in the repository for resources that these changes concern. "
                "They list each resource with its file and line, and with the line that keeps the old behavior. They "
                "report a change if your release does not have it and the target does. They report nothing if a "
                "field, a patch or a feature gate already sets the behavior. Each rule links to its source."
            ),
            _table(("Flux", "Rule", "Concerns", "Change", "How to adapt or keep the old behavior"), rows),
            "## How a rule gets here",
            (
                "Rules come from Flux's announcements and release notes, and from the changelogs of its controllers. "
                "A third source is the defaults of their feature gates (`internal/features` in each controller's "
                "source). All three are read for every release. A change becomes a rule on two conditions. The API server accepts the resource before and "
                "after the change, and the resource shows that it is affected."
            ),
            (
                "Each rule has test cases in `tests/breaks`: an affected resource, and one that is not. A third one has a "
                "field or a feature gate that sets the behavior. On real repositories, the tests count "
                "how many resources each rule reports."
            ),
        ]
    )


def _releases(span: Span) -> str:
    return f"≥ {span.first}, < {span.end}" if span.end else f"≥ {span.first}"


def flux_operator_page() -> str:
    """Which release of the flux-operator includes which release of Flux."""
    rows: list[tuple[str, ...]] = [
        (
            flux,
            f"{operator} or later",
            "not confirmed"
            if flux in operator_table.UNCONFIRMED
            else f"[config/data/flux/{flux}]({operator_table.source(flux)})",
        )
        for flux, operator in reversed([*operator_table.LOWEST.items()])
    ]
    return _page(
        [
            "# flux-operator releases",
            (
                "This page is for you if a FluxInstance installs Flux. It shows which flux-operator you need before you "
                "set a Flux release."
            ),
            "```sh\nflux-upgrade plan\n```",
            (
                "A flux-operator release includes the manifests of certain Flux releases, in its image and in the "
                "artifact `flux-operator-manifests`. A FluxInstance can only get those. With a range such as `2.x`, it "
                "gets the newest of them that is in the range."
            ),
            _table(("Flux", "flux-operator", "Source"), rows),
            (
                f"The table ends with flux-operator {operator_table.NEWEST}. For `{operator_table.OLDEST}`, an older "
                "release may include the same. A Flux release without a row is in no flux-operator release up to "
                f"{operator_table.NEWEST}, or later flux-operator releases do not include it. If a row is not "
                "confirmed, the lowest flux-operator may be another one."
            ),
            "## What flux-upgrade does with it",
            (
                "- **The flux-operator of the cluster is too old**: the upgrade of the FluxInstance is held as "
                "[`operator-too-old`](hold-reasons.md). The message shows the release that you need. An artifact that is too old is held as [`unsupported-pin`](hold-reasons.md).\n"
                "- **The version of the flux-operator is unknown**: it is in another repository, a variable, a range or "
                "patched. The FluxInstance is upgraded, and the pull request shows the release that you need.\n"
                "- **With [`flux-operator: change`](../how-to/several-pins.md#the-flux-operator)**, the flux-operator is "
                "updated in the same pull request. Its registry shows what a release includes. If the registry is "
                "unreachable, the table does, but nothing is changed to a release that was not looked up.\n"
                f"- **A flux-operator later than {operator_table.NEWEST}** is only looked up in the registry."
            ),
        ]
    )


def config_schema() -> str:
    """For editors."""
    return json.dumps(schema(), indent=2) + "\n"


def filled(text: str) -> str:
    """A page with its reports, pull requests and examples."""
    for pattern, shown in _FILLED:
        text = pattern.sub(partial(_shown, shown), text)
    return text


def _shown(shown: Callable[[str], str], match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}{shown(match[1])}"


def report(case: str) -> str:
    """What a case's command prints on stdout, below the command itself."""
    text = (ROOT / "tests" / "cases" / f"{case}.txtar").read_text(encoding="utf-8")
    text = text.partition("\n-- report --\n")[2]
    shown = text[text.index("\n$ flux-upgrade ") + 1 :]
    return re.split(r"^\[(?:stderr|exit code \d+)\]$", shown, maxsplit=1, flags=re.MULTILINE)[0]


def pull_request(case: str) -> str:
    """A pull request as a reader sees it: a quotation, the title first, without our hidden comments."""
    text = txtar.read(ROOT / "tests" / "pull_requests" / f"{case}.txtar").text("pull_request.md")
    title, _, body = text.partition("\n")
    heading = title.removeprefix("<!-- ").removesuffix(" -->")
    seen = re.sub(r"<!-- .*? -->[ \n]?", "", body).strip()
    return "".join(f"> {line}".rstrip() + "\n" for line in (f"**{heading}**", "", *seen.splitlines()))


def example(name: str) -> str:
    """A workflow to paste."""
    return (ROOT / "examples" / name).read_text(encoding="utf-8")


_FILLED = ((_REPORT, report), (_PULL_REQUEST, pull_request), (_EXAMPLE, example))
PAGES: dict[str, Callable[[], str]] = {
    "action.md": action_page,
    "breaks.md": breaks_page,
    "cli.md": cli_page,
    "config.md": config_page,
    "config.schema.json": config_schema,
    "exit-codes.md": exit_codes_page,
    "flux-operator.md": flux_operator_page,
    "hold-reasons.md": hold_reasons_page,
    "verification-results.md": verification_results_page,
}


def current() -> dict[Path, str]:
    """Every page as it should be."""
    docs = ROOT / "docs"
    pages = {docs / "reference" / name: page() for name, page in PAGES.items()}
    for path in (ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted((docs / "how-to").glob("*.md"))):
        pages[path] = filled(path.read_text(encoding="utf-8"))
    return pages


def stale() -> list[Path]:
    """The pages that are not as they should be."""
    return [path for path, text in current().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    """Write the pages, or check them."""
    old = stale()
    if sys.argv[1:] == ["--check"]:
        for path in old:
            sys.stderr.write(f"{path.relative_to(ROOT)} is not current: run `make docs`\n")
        return 1 if old else 0
    pages = current()
    for path in old:
        path.write_text(pages[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
