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
from flux_upgrade.config.also_keys import ALSO
from flux_upgrade.config.config import PATH
from flux_upgrade.config.install_flags import EXTRA, MEANINGS, default
from flux_upgrade.config.keys import GROUP, TOP, Key, MappingShape
from flux_upgrade.config.known_keys import KNOWN
from flux_upgrade.config.schema import described, schema_of, type_of
from flux_upgrade.manifests.options import LOG_LEVELS, spell

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
ALSO_EXAMPLE = """\
also:
  - files: ["ansible/group_vars/*.yaml"]
    match: 'flux_version: (?<version>.*)'
    cluster: clusters/production
"""
KNOWN_EXAMPLE = """\
known:
  - paths: ["clusters/production/**"]
    reason: Terraform creates the Secret cluster-settings.
    release: v2.8
    until: 2027-03-31
    variables: {environment: production}
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


def flag_type(flag: str) -> str:
    if flag == "log-level":
        return ", ".join(f"`{level}`" for level in LOG_LEVELS)
    example = default(flag)
    return "boolean" if isinstance(example, bool) else "text" if isinstance(example, str) else "list"


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
                "This page is for you if the defaults are not right for your clusters. You find every key, with its "
                "type, its default and its meaning."
            ),
            "```sh\nflux-upgrade config check\n```",
            (
                f"The file is `{PATH}`. It is optional, and so is every key. An input of the Action or a flag of the "
                "command line overrides the file. `flux-upgrade config check` lists every problem with its line. "
                "Editors can use the [JSON Schema](config.schema.json)."
            ),
            f"```yaml\n{EXAMPLE}```",
            "## Keys",
            (
                "The column *Shared* is for a file that others [extend](../how-to/share-a-config.md). It shows whether "
                "that file can set the key, and to which values, compared with what holds without it."
            ),
            _table(
                ("Key", "In a group", "Shared", "Type", "Default", "Meaning"), _rows((*TOP.keys, *_only_in_groups()))
            ),
            "## Groups",
            (
                "The installations of a group have one pull request. Every other installation has its own. An "
                "installation belongs to the first group with a pattern that matches its file. If a group does not "
                "set a key, the top level applies: for `flags` and `cool-down` each entry, for all other keys the "
                "complete value."
            ),
            (
                "The name of a group can contain a-z, A-Z and 0-9, and after the first character also `.`, `_` and "
                "`-`. Two names that differ only in case or in these three characters are refused, because their "
                "branches would have the same name."
            ),
            (
                "A group that matches no installation and no version reference has no effect. The installations that "
                "you meant follow another group or the top level. Each run warns of such a group. The warning shows "
                "the nearest directory with Flux, or the reason: `ignore` or an earlier group has the files."
            ),
            (
                "`flux-upgrade config check` in a checkout lists what each group matches, and each pattern that "
                "matches nothing. For a group that matches nothing, it ends with [2](exit-codes.md). Before the "
                "first installation, it only warns. In a sparse checkout, and for a file outside of a checkout, "
                "groups are not compared with the repository."
            ),
            "## Flags",
            (
                "The flags of `flux install` to change, with Flux's names. All other flags stay as they are. You can "
                "write lists as on Flux's command line: `a,b`. You cannot change `namespace`, because Flux would be "
                "installed a second time."
            ),
            _table(("Flag", "Type", "Flux's default", "Meaning"), _flag_rows()),
            "## Patterns",
            ("Patterns work as in a `.gitignore` in the repository's root:"),
            (
                "- `*` matches any text without a slash, `**` any directories.\n"
                "- A pattern with a slash at its beginning or in its middle starts at the root.\n"
                "- A pattern with a slash at its end matches a directory and everything in it.\n"
                "- `!` excludes what earlier patterns matched.\n"
                "- The last pattern that matches decides. Unlike in Git, this also applies in a directory that an "
                "earlier pattern matched."
            ),
            "## Also",
            (
                "Each entry of `also` has these keys. See [your own places](../how-to/other-places.md) for examples, and "
                "for what happens if an entry matches nothing."
            ),
            f"```yaml\n{ALSO_EXAMPLE}```",
            _table(("Key", "Required", "Type", "Default", "Meaning"), _entry_rows(ALSO)),
            "## Known",
            (
                "Each entry of `known` has the required keys and at least one of the others. See "
                "[state what Git does not show](../how-to/known-facts.md) for when it counts."
            ),
            f"```yaml\n{KNOWN_EXAMPLE}```",
            _table(("Key", "Required", "Type", "Default", "Meaning"), _entry_rows(KNOWN)),
            "## Durations",
            "`0`, or a number with `h` (hours), `d` (days) or `w` (weeks).",
            *_bootstrap(),
        ]
    )


def _bootstrap() -> Iterator[str]:
    yield "## Bootstrap"
    yield (
        "The settings of [`flux-upgrade bootstrap`](cli.md#flux-upgrade-bootstrap). Other commands do not read "
        "them. The command line overrides the file, and a cluster's flags override those for all clusters. All "
        "clusters are in one repository and on one branch, each at a different path. They have one pull request. "
        "With `--cluster`, the command sets up only that cluster."
    )
    yield f"```yaml\n{BOOTSTRAP_EXAMPLE}```"
    yield _table(("Key", "Type", "Default", "Meaning"), _bootstrap_rows())
    yield "## Flags of a bootstrap"
    yield (
        "The flags of `flux bootstrap` and of `flux create secret githubapp`, with their names. "
        'Booleans can be in quotes, as in Flux: `private: "false"` is false. You can write lists as on '
        "Flux's command line: `a,b`. Durations have Go's format, such as `1m` or `1h30m`. Do not write "
        "passwords into a file of the repository: `registry-creds` is only for the command line."
    )
    yield _table(("Flag", "For", "Since", "Type", "Meaning"), _bootstrap_flag_rows())


def _entry_rows(entry: MappingShape) -> Iterator[tuple[str, ...]]:
    for key in entry.keys:
        plain = f"`{key.default}`" if key.default else ""
        yield f"`{key.name}`", "yes" if key.name in entry.required else "no", type_of(key.shape), plain, key.meaning


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
        place = "only there" if key in _only_in_groups() else "no" if is_at_top_only else "yes"
        place += "; required" if key.name in GROUP.required and key in GROUP.keys else ""
        shared = key.shared.word if key.shared else "no"
        yield f"`{prefix}{key.name}`", place, shared, type_of(key.shape), plain, key.meaning
        if isinstance(key.shape, MappingShape):
            yield from _rows(key.shape.keys, f"{prefix}{key.name}.")


def _flag_rows() -> Iterator[tuple[str, ...]]:
    for flag, meaning in MEANINGS.items():
        plain = "" if flag == EXTRA else spell(default(flag))
        yield f"`{flag}`", flag_type(flag), f"`{plain}`" if plain else "", meaning


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = (head, tuple("---" for _ in head), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
