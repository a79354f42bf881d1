"""The reference and the JSON Schema of the config file, from the table that the loader reads by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from flux_upgrade.bootstrap.config_keys import KEYS as BOOTSTRAP_KEYS
from flux_upgrade.bootstrap.config_keys import TOP as BOOTSTRAP
from flux_upgrade.bootstrap.config_keys import BootstrapFlags
from flux_upgrade.bootstrap.config_keys import schema as bootstrap_schema
from flux_upgrade.bootstrap.flag_table import FLAGS as BOOTSTRAP_FLAGS
from flux_upgrade.bootstrap.flag_table import Flag
from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.config.config import PATH
from flux_upgrade.config.install_flags import EXTRA, MEANINGS, default
from flux_upgrade.config.keys import GROUP, TOP, Key, MappingShape
from flux_upgrade.config.schema import described, flag_type, schema_of, type_of
from flux_upgrade.manifests.options import spell

EXAMPLE = """\
policy: patch
cool-down: {patch: 0, minor: 7d}
labels: [flux]
reviewers: [octocat, octo-org/platform]
ignore: ["archive/**"]
groups:
  staging:
    paths: ["clusters/staging-*/**"]
    policy: minor
    flags:
      log-level: debug
  production:
    paths: ["clusters/**", "!clusters/sandbox/**"]
    assignees: [octocat]
    kubernetes-version: 1.34
    needs-approval: [rbac, network-policy]
"""
BOOTSTRAP_EXAMPLE = """\
bootstrap:
  provider: github
  flags:
    repository: octo-org/fleet
    components-extra: [source-watcher]
    token-auth: false
  clusters:
    staging:
      path: clusters/staging
      log-level: debug
    production:
      path: clusters/production
      network-policy: true
"""


def schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, of what ``config.reader.load`` accepts, as far as a schema can tell."""
    top, group = schema_of(TOP), schema_of(GROUP)
    shared = {key.name: key for key in GROUP.keys if key in TOP.keys}
    for key in TOP.keys:
        if key.name in shared:
            group["properties"][key.name] = {"$ref": f"#/$defs/{key.name}"}
            top["properties"][key.name] = {"$ref": f"#/$defs/{key.name}"}
        if key.default:
            top["properties"][key.name]["default"] = yaml.safe_load(key.default)
    top["properties"]["bootstrap"] |= bootstrap_schema()
    top["properties"]["groups"]["additionalProperties"] = {"$ref": "#/$defs/group"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": PATH,
        "description": "How flux-upgrade treats the installations of Flux in a repository. "
        "An empty file means the defaults.",
        **top,
        "type": ["object", "null"],
        "$defs": {
            "group": {"description": "Installations that are upgraded in one pull request.", **group},
            "bootstrap-flags": {
                "description": "Flags of flux bootstrap, by their own names.",
                **BootstrapFlags().schema(),
            },
            **{name: described(key) for name, key in shared.items()},
        },
    }


def reference() -> str:
    """Every key with its type, default and meaning, Markdown."""
    return "\n\n".join(
        [
            "# Config file",
            (
                f"`{PATH}` is optional; every key has a default. An input of the Action and a flag of the "
                "command line beat the file. `flux-upgrade config check` names every problem with file and "
                "line; editors can use the [JSON Schema](config.schema.json)."
            ),
            f"```yaml\n{EXAMPLE}```",
            "## Keys",
            _table(("Key", "In a group", "Type", "Default", "Meaning"), _rows((*TOP.keys, *_only_in_groups()))),
            "## Groups",
            (
                "The installations of a group have one pull request; each of the others has its own. The "
                "first group with a pattern that matches an installation's file has it. What a group does "
                "not say comes from the top level: `flags` and `cool-down` entry by entry, everything else "
                "as a whole. A name may hold a-z, A-Z, 0-9 and, after the first character, `.`, `_` and "
                "`-`; names that differ only in case or in these three would give the same branches, and "
                "are refused."
            ),
            (
                "A group that matches no installation and no version reference has no effect, and neither "
                "has its policy: the installations you meant follow another group or the top level. Each run "
                "warns of such a group, with the nearest directory that has Flux, or with the reason: "
                "`ignore` covers its files, or an earlier group has them. `flux-upgrade config check` in a "
                "checkout lists what each group matches, notes single patterns that match nothing, and ends "
                "with [18](exit-codes.md) for a group that matches nothing. Before the first installation, "
                "it only warns. In a sparse checkout, and for a file outside of a checkout, groups are not "
                "compared with the repository."
            ),
            "## Flags",
            (
                "The flags of `flux install` that are to change, with Flux's own names; a flag that is not "
                "named stays as it is in the installation. Lists may be written as on Flux's command line, "
                "`a,b`. `namespace` cannot be changed: Flux would be installed a second time."
            ),
            _table(("Flag", "Type", "Flux's default", "Meaning"), _flag_rows()),
            "## Patterns",
            (
                "As in a `.gitignore` in the repository's root: `*` stands for anything but a slash, `**` "
                "for any folders, a pattern with a slash at its beginning or in its middle starts at the "
                "root, one with a slash at its end means a folder and all that is in it, `!` takes back what "
                "earlier patterns took. The last pattern that matches decides, below a folder that an "
                "earlier one took, too (Git would not look into it)."
            ),
            "## Durations",
            "`0`, or a number with `h` (hours), `d` (days) or `w` (weeks).",
            *_bootstrap(),
        ]
    )


def _bootstrap() -> Iterator[str]:
    yield "## Bootstrap"
    yield (
        "What [`flux-upgrade bootstrap`](cli.md#flux-upgrade-bootstrap) sets up; nothing else looks at it. "
        "What is given to the command beats the file, and a cluster's flags beat those for all. The clusters "
        "are in one repository and on one branch, each at a path of its own, and have one pull request; with "
        "`--cluster` there is one of them."
    )
    yield f"```yaml\n{BOOTSTRAP_EXAMPLE}```"
    yield _table(("Key", "Type", "Default", "Meaning"), _bootstrap_rows())
    yield "## Flags of a bootstrap"
    yield (
        "Those of `flux bootstrap`, by their names, and those of `flux create secret githubapp`. "
        'Booleans are read as Flux reads them, in quotes or not: `private: "false"` is false. Lists may be '
        "written as on Flux's command line, `a,b`; durations are Go's, such as `1m` or `1h30m`. A password "
        "has no place in a file of the repository, so that `registry-creds` is for the command line alone."
    )
    yield _table(("Flag", "For", "Since", "Type", "Meaning"), _bootstrap_flag_rows())


def _bootstrap_rows() -> Iterator[tuple[str, ...]]:
    for key in BOOTSTRAP.keys:
        yield f"`{key.name}`", type_of(key.shape), f"`{key.default}`" if key.default else "", key.meaning


def _bootstrap_flag_rows() -> Iterator[tuple[str, ...]]:
    for key in BOOTSTRAP_KEYS:
        flag = BOOTSTRAP_FLAGS[key.name]
        yield f"`{key.name}`", _whom(flag), flag.since, type_of(key.shape), flag.description


def _whom(flag: Flag) -> str:
    """The subcommands that have it; empty: all, and OCI."""
    git = "Git" if flag.providers == tuple(Provider) else ", ".join(flag.providers)
    where = [git if source is Source.GIT else "OCI" for source in flag.sources]
    return "" if where == ["Git", "OCI"] else ", ".join(where)


def _only_in_groups() -> tuple[Key, ...]:
    return tuple(key for key in GROUP.keys if key not in TOP.keys)


def _rows(keys: tuple[Key, ...], prefix: str = "") -> Iterator[tuple[str, ...]]:
    for key in keys:
        plain = f"`{key.default}`" if key.default else ""
        is_at_top_only = key in TOP.keys and key not in GROUP.keys
        place = "only there; required" if key in _only_in_groups() else "no" if is_at_top_only else "yes"
        yield f"`{prefix}{key.name}`", place, type_of(key.shape), plain, key.meaning
        if isinstance(key.shape, MappingShape):
            yield from _rows(key.shape.keys, f"{prefix}{key.name}.")


def _flag_rows() -> Iterator[tuple[str, ...]]:
    for flag, meaning in MEANINGS.items():
        plain = "" if flag == EXTRA else spell(default(flag))
        yield f"`{flag}`", flag_type(flag), f"`{plain}`" if plain else "", meaning


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = (head, tuple("---" for _ in head), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
