"""``make docs``: what the code knows best is written from it.

That is most of docs/reference, and every report that is shown below a line
``<!-- report: CASE -->``: it is the one of ``tests/cases/CASE``. ``--check``
writes nothing, and fails where a page is not current.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

from flux_upgrade import cli, errors
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.settings import build_parser
from flux_upgrade.upgrade import HoldReason

ROOT = Path(__file__).resolve().parent.parent
_REPORT = re.compile(r"(?<=<!-- report: )([a-z0-9-]+)( -->\n```\n)(?:.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
GENERATED = "<!-- Written by `make docs`: change the code, not this page. -->\n"

ENVIRONMENT = (
    ("GITHUB_TOKEN, GH_TOKEN", "Sent to the GitHub API alone, for its higher rate limit. None is needed."),
    (
        "XDG_CACHE_HOME, HOME",
        "Downloads are kept in `$XDG_CACHE_HOME/flux-upgrade` or `~/.cache/flux-upgrade`.",
    ),
    ("PATH", "Where a `flux` binary is looked for, should a release be newer than the known rules."),
    ("HTTPS_PROXY, HTTP_PROXY, NO_PROXY, REQUESTS_CA_BUNDLE", "As the requests library reads them."),
    ("FLUX_UPGRADE_DEBUG", "With any value, an unexpected error shows its traceback."),
)

# What upgrade does with a file of each verdict. A verdict without a line here fails the generation.
AFTER = {
    Verdict.EXACT: "Replaced by the target's own bytes.",
    Verdict.IMAGES: "Flux's own tags give way to the release's; a registry or a tag of your own is kept; "
    "digest pins are named in the report and not kept.",
    Verdict.FORMATTING: "Replaced by Flux's own form. "
    "Line ends, byte order mark and a missing final newline stay.",
    Verdict.EDITED: "Every edit is carried to the target, path by path, "
    "or the run holds and shows the conflict.",
    Verdict.UNPROVED: "Left alone.",
    Verdict.UNREADABLE: "Left alone.",
}

# Reason → what it means, what to do, the exit code. A reason without a line here fails the generation.
HOLDS = {
    HoldReason.UP_TO_DATE: (
        "The body is at the target already, or, without `--to`, newer than the newest stable release.",
        "Nothing. A controller newer than the release is named; an older image or another header is no hold.",
        "0",
    ),
    HoldReason.RESIDUE_CONFLICT: (
        "The target changed or removed the same path that was edited by hand.",
        "Decide for each path: see [Conflicts](../how-to/conflicts.md).",
        f"{errors.ResidueConflict.exit_code}",
    ),
    HoldReason.CONTROLLER_NEWER: (
        "A controller in the file is newer than the one that the target ships; it never goes backwards.",
        "Upgrade to the release that the report names; where none is named, wait for the next one.",
        f"{errors.Downgrade.exit_code} with `--to`, else 0",
    ),
    HoldReason.DOWNGRADE: (
        "The version that was asked for is older than the body.",
        "Restore an older manifest from the history, if you must, and mind the stored API versions.",
        f"{errors.Downgrade.exit_code}",
    ),
    HoldReason.UNREADABLE: (
        "The file is broken, or is not one Flux manifest.",
        "Repair the lines that the report names.",
        f"{errors.Unreadable.exit_code}",
    ),
    HoldReason.UNPROVED: (
        (
            "There is no release to compare the file with: Flux v0, a development build, an install.yaml, "
            "or a release that the source does not have."
        ),
        "What the report says for the case.",
        f"{errors.Unproved.exit_code}",
    ),
    HoldReason.UNSUPPORTED_RELEASE: (
        "The target is newer than the known rules, and they could not be proved for it.",
        (
            "Use a newer flux-upgrade, or put the `flux` binary of that version on PATH. Where Flux has not "
            "published the release's manifest yet: run again later."
        ),
        f"{errors.UnsupportedRelease.exit_code}; 0 where it is only not published yet, and without `--to`",
    ),
}


def cli_page() -> str:
    """Every command with every flag."""
    parts = [
        "# Commands and flags",
        (
            "`flux-upgrade --version` and `flux-upgrade COMMAND --help` do what they say. Flags may stand "
            "before or behind the path, and cannot be abbreviated. What a run ends with: "
            "[exit codes](exit-codes.md)."
        ),
        *_commands(),
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
                flags = [each for each in parser._actions if each.dest != "help"]  # noqa: SLF001 as above
                yield _table(("Argument", "Meaning"), [(_spelling(flag), flag.help or "") for flag in flags])


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`[{action.metavar}]`"
    value = "|".join(action.choices) if action.choices else str(action.metavar or action.dest.upper())
    shown = "" if action.nargs == 0 else f"[={value}]" if action.nargs == "?" else f"={value}"
    short = [f"`{each}`, " for each in action.option_strings if not each.startswith("--")]
    return "".join([*short, f"`{action.option_strings[-1]}{shown}`"])


def exit_codes_page() -> str:
    """One line for each code: codes are distinct, an error class has exactly one."""
    rows = [(errors.FluxUpgradeError.exit_code, "unexpected", errors.FluxUpgradeError.meaning)]
    rows += [(each.exit_code, each.slug, each.meaning) for each in errors_with_codes()]
    rows.append((cli.INTERRUPTED, "", "The run was interrupted (Ctrl-C)."))
    return _page(
        [
            "# Exit codes",
            (
                "Where installations end differently, the smallest code that is not 0 is the run's. An error "
                "is one line on stderr, `flux-upgrade: <name>: <what is wrong>`, and an indented one with "
                "the remedy."
            ),
            _table(
                ("Code", "Name", "Meaning"),
                [
                    ("0", "", "Done, or there was nothing to do."),
                    *((str(code), f"`{name}`" if name else "", text) for code, name, text in sorted(rows)),
                ],
            ),
            (
                "`inspect` ends with 0 for whatever it finds, but for unreadable files and an empty tree: "
                "what it says of an installation is its result."
            ),
        ]
    )


def errors_with_codes() -> list[type[errors.FluxUpgradeError]]:
    """The error classes that a user can meet."""
    return [
        each
        for _, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, errors.FluxUpgradeError) and each is not errors.FluxUpgradeError
    ]


def verdicts_page() -> str:
    """What a proof can say."""
    told = docstrings(Verdict)
    return _page(
        [
            "# Verdicts",
            (
                "The body's release is regenerated with the recovered flags and compared with the file, byte "
                "for byte. `inspect` says how well it fits, and `upgrade` acts on it."
            ),
            _table(
                ("Verdict", "The regeneration and the file", "What `upgrade` does"),
                [(f"`{each}`", told[each], AFTER[each]) for each in Verdict],
            ),
        ]
    )


def hold_reasons_page() -> str:
    """Why an installation can be left as it is."""
    return _page(
        [
            "# Hold reasons",
            (
                "An installation that is not upgraded is held, for one of these reasons. The others in the "
                "tree go on."
            ),
            _table(
                ("Reason", "Meaning", "What to do", "Exit code"),
                [(f"`{each}`", *HOLDS[each]) for each in HoldReason],
            ),
        ]
    )


def docstrings(enum: type[StrEnum]) -> dict[StrEnum, str]:
    """Member → the docstring below it, which Python itself forgets."""
    (body,) = ast.parse(inspect.getsource(enum)).body
    assert isinstance(body, ast.ClassDef)
    told = {}
    for member, below in zip(body.body, body.body[1:], strict=False):
        match member, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                told[enum[name]] = " ".join(text.split())
    return told


def _codes(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _page(parts: list[str]) -> str:
    return f"{GENERATED}\n" + "\n\n".join(parts) + "\n"


def with_reports(text: str) -> str:
    """A page with the reports of its cases."""
    return _REPORT.sub(lambda match: f"{match[1]}{match[2]}{report(match[1])}", text)


def report(case: str) -> str:
    """What a case's command prints on stdout, below the command itself."""
    text = (ROOT / "tests" / "cases" / case / "report.txt").read_text(encoding="utf-8")
    shown = text[text.index("$ flux-upgrade upgrade") :]
    return re.split(r"^\[(?:stderr|exit code \d+)\]$", shown, maxsplit=1, flags=re.MULTILINE)[0]


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "exit-codes.md": exit_codes_page,
    "hold-reasons.md": hold_reasons_page,
    "verdicts.md": verdicts_page,
}


def current() -> dict[Path, str]:
    """Every page as it should be."""
    docs = ROOT / "docs"
    pages = {docs / "reference" / name: page() for name, page in PAGES.items()}
    for path in (ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted((docs / "how-to").glob("*.md"))):
        pages[path] = with_reports(path.read_text(encoding="utf-8"))
    return pages


def stale() -> list[Path]:
    """The pages that are not as they should be."""
    return [
        path
        for path, text in current().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


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
