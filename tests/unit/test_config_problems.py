"""Each bad config file is refused with the line of each problem, and the published schema refuses it too."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from config_reference import EXAMPLE, reference, schema

from config_files import load
from flux_upgrade.config.also_keys import DIRECTORY
from flux_upgrade.model.errors import InvalidConfig

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
KNOWN = "known:\n  - {paths: [a], reason: It is so., release: v2.8, until: 2027-03-31"  # Without the brace at its end
EMPTY_GROUP = "groups:\n  a: {paths: [a]}\n"

# File → problems as line and text.
PROBLEMS: dict[str, list[tuple[int, str]]] = {
    # Keys
    "labels: []\npolcy: patch": [(2, "unknown key 'polcy', did you mean 'policy'?")],
    "auto_merge: none": [(1, "unknown key 'auto_merge', did you mean 'auto-merge'?")],
    "zzz: 1": [(1, "unknown key 'zzz'")],
    "paths: [a]": [(1, "key 'paths' belongs in a group")],
    "groups:\n  a:\n    paths: [a]\n    ignore: [b]": [(4, "key 'ignore' belongs to the top level")],
    "groups:\n  a:\n    paths: [a]\n    flux-operator: change": [(4, "key 'flux-operator' belongs to the top level")],
    "groups:\n  a:\n    path: [a]": [(3, "unknown key 'path', did you mean 'paths'?"), (3, "group 'a' has no paths")],
    "cool-down: {patchs: 1d}": [(1, "unknown key 'patchs', did you mean 'patch'?")],
    "flags:\n  network-polcy: false": [(2, "unknown flag 'network-polcy', did you mean 'network-policy'?")],
    '"a\\e[31m": 1': [(1, "unknown key 'a\ufffd[31m'")],
    # A shared file
    "extends: octo-org/platform/f@main": [
        (
            1,
            (
                "extends 'octo-org/platform/f@main' is not owner/repository/path@commit with all 40 digits of the "
                "commit: `gh api repos/octo-org/platform/commits/main --jq .sha` shows the commit"
            ),
        )
    ],
    "extends: octo-org/platform": [
        (1, "extends 'octo-org/platform' is not owner/repository/path@commit with all 40 digits of the commit")
    ],
    f"groups:\n  a:\n    paths: [a]\n    extends: a/b/c@{'0' * 40}": [(4, "key 'extends' belongs to the top level")],
    # Kinds of values
    "- policy": [(1, "the file expects a mapping, got a list")],
    "policy": [(1, "the file expects a mapping, got text")],
    "policy:": [(1, "policy expects one of none, patch, minor, major, got nothing")],
    "policy: false": [(1, "policy expects one of none, patch, minor, major, got true or false")],
    "policy: [patch]": [(1, "policy expects one of none, patch, minor, major, got a list")],
    "range: 2.10": [
        (1, "range expects a range of versions in quotes, such as '>=2.6', got a number; put it in quotes")
    ],
    "labels: flux": [(1, "labels expects a list, got text")],
    "labels:\n  - flux\n  - 7\n  -": [
        (3, "labels expects a label (at most 50 characters, no comma), got a number; put it in quotes"),
        (4, "labels expects a label (at most 50 characters, no comma), got nothing"),
    ],
    "labels: [2020-01-01]": [
        (1, "labels expects a label (at most 50 characters, no comma), got a date; put it in quotes")
    ],
    "cool-down: 7d": [(1, "cool-down expects a mapping, got text")],
    "flags: [a]": [(1, "flags expects a mapping such as {network-policy: false}, got a list")],
    "groups: [a]": [(1, "groups expects a mapping, name to group, got a list")],
    "groups:\n  a:": [(2, "group 'a' expects a mapping, got nothing")],
    "groups:\n  a: {}": [(2, "group 'a' has no paths")],
    "groups:\n  a: {paths: []}": [(2, "paths is empty")],
    # Places of one's own
    "known: x": [(1, "known expects a list, got text")],
    "known: [x]": [(1, "an entry of known expects a mapping, got text")],
    "known:\n  - {}": [
        *((2, f"an entry of known has no {key}") for key in ("paths", "reason", "release", "until")),
        (2, "an entry of known needs migrated, root, reads or variables"),
    ],
    f"{KNOWN}}}": [(2, "an entry of known needs migrated, root, reads or variables")],
    f"{KNOWN}, migrated: false}}": [(2, "an entry of known needs migrated, root, reads or variables")],
    f"{KNOWN}, migrated: maybe}}": [(2, "migrated expects true or false, got 'maybe'")],
    f"{KNOWN}, root: ../a}}": [(2, f"root '../a' is not {DIRECTORY.description}")],
    f"{KNOWN}, reads: []}}": [(2, "reads is empty")],
    f"{KNOWN}, variables: {{}}}}": [(2, "variables is empty")],
    f"{KNOWN}, variables: [a]}}": [(2, "variables expects a mapping, got a list")],
    f"{KNOWN}, variables: {{a-b: c}}}}": [(2, "variable 'a-b' is not the name of a variable")],
    f"{KNOWN}, variables: {{a: 1}}}}": [(2, "a expects the value of a variable, got a number; put it in quotes")],
    f"{KNOWN}, root: a, until: 2027-02-30}}": [(2, "key 'until' is given twice, first in line 2")],
    f"{KNOWN.replace('2027-03-31', '2027-02-30')}, root: a}}": [
        (2, "until expects a date like 2027-03-31, got '2027-02-30'")
    ],
    f"{KNOWN.replace('2027-03-31', 'never')}, root: a}}": [(2, "until expects a date like 2027-03-31, got 'never'")],
    f"{KNOWN.replace('v2.8', '2.10')}, root: a}}": [
        (2, "release expects a minor of Flux, such as v2.8, got a number; put it in quotes")
    ],
    f"{KNOWN.replace('v2.8', 'v2.8.1')}, root: a}}": [(2, "release 'v2.8.1' is not a minor of Flux, such as v2.8")],
    "groups:\n  a:\n    paths: [a]\n    known: []": [(4, "key 'known' belongs to the top level")],
    "also: x": [(1, "also expects a list, got text")],
    "also: [x]": [(1, "an entry of also expects a mapping, got text")],
    "also:\n  - {}": [(2, "an entry of also has no files"), (2, "an entry of also has no match")],
    "also:\n  - {file: [a], match: '(?<version>x)'}": [
        (2, "unknown key 'file', did you mean 'files'?"),
        (2, "an entry of also has no files"),
    ],
    "also:\n  - {files: [/etc/passwd], match: '(?<version>x)'}": [
        (2, "files '/etc/passwd' is not a pattern as in .gitignore, relative to the repository's root")
    ],
    "also:\n  - {files: [../a], match: '(?<version>x)'}": [
        (2, "files '../a' is not a pattern as in .gitignore, relative to the repository's root")
    ],
    "also:\n  - {files: [], match: '(?<version>x)'}": [(2, "files is empty")],
    "also:\n  - {files: ['!a'], match: '(?<version>x)'}": [
        (2, "files begins with an exception, '!a', and matches nothing")
    ],
    "also:\n  - {files: [a], match: ' '}": [(2, "match ' ' is not a regular expression")],
    "also:\n  - {files: [a], match: 7}": [(2, "match expects a regular expression, got a number; put it in quotes")],
    "also:\n  - {files: [a], match: '(?<version>x)', for: all}": [(2, "for 'all' is not one of cluster, cli")],
    "also:\n  - {files: [a], match: '(?<version>x)', cluster: /a}": [
        (
            2,
            "cluster '/a' is not the directory of a cluster, relative to the repository's root, such as clusters/production",
        )
    ],
    "also:\n  - {files: [a], match: '(?<version>x)', cluster: a/../..}": [
        (
            2,
            "cluster 'a/../..' is not the directory of a cluster, relative to the repository's root, such as clusters/production",
        )
    ],
    "groups:\n  a:\n    paths: [a]\n    also: []": [(4, "key 'also' belongs to the top level")],
    # Rings
    "after: [a]": [(1, "key 'after' belongs in a group")],
    "groups:\n  a: {paths: [a], after: 'b c'}": [
        (2, "after 'b c' is not the name of a group (a-z, A-Z, 0-9, and after the first '.', '_' and '-')")
    ],
    "groups:\n  a: {paths: [a], healthy: always}": [(2, "healthy expects soak, or context and creator, got 'always'")],
    "groups:\n  a: {paths: [a], on-failure: rvert}": [
        (2, "on-failure 'rvert' is not one of comment, revert, did you mean 'revert'?")
    ],
    "on-failure: revert": [(1, "key 'on-failure' belongs in a group")],
    "groups:\n  a: {paths: [a], healthy: {context: x}}": [(2, "healthy has no creator")],
    "groups:\n  a: {paths: [a], healthy: {context: [], creator: x}}": [(2, "context is empty")],
    "groups:\n  a: {paths: [a], healthy: {context: x, creator: '@x'}}": [(2, "creator '@x' is not a login, without @")],
    "branch-prefix: {a: b}": [
        (1, "branch-prefix expects the beginning of a branch's name as Git allows it, got a mapping")
    ],
    "policy: !!set {a}": [(1, "policy expects one of none, patch, minor, major, got a mapping")],
    "policy: !mine patch": [(1, "policy expects one of none, patch, minor, major, got a value of type '!mine'")],
    # Values
    "policy: ptach": [(1, "policy 'ptach' is not one of none, patch, minor, major, did you mean 'patch'?")],
    "pending: drafts": [(1, "pending 'drafts' is not one of draft, summary, did you mean 'draft'?")],
    "flux-operator: chnage": [(1, "flux-operator 'chnage' is not one of report, change, did you mean 'change'?")],
    "check-images: 'false'": [(1, "check-images expects true or false, got 'false' in quotes")],
    "check-images: never": [(1, "check-images expects true or false, got 'never'")],
    "check-images: [true]": [(1, "check-images expects true or false, got a list")],
    "migrate: later": [(1, "migrate 'later' is not one of before, with-upgrade, off")],
    "migrate: on": [(1, "migrate expects one of before, with-upgrade, off, got true or false")],
    "migrate:": [(1, "migrate expects one of before, with-upgrade, off, got nothing")],
    "multi-step: never": [(1, "multi-step expects on or off, got 'never'")],
    "multi-step: 'true'": [(1, "multi-step expects on or off, got 'true'")],
    "multi-step: 0": [(1, "multi-step expects on or off, got a number")],
    "multi-step: [off]": [(1, "multi-step expects on or off, got a list")],
    "include: apps": [(1, "include expects a list, got text")],
    "include: ['!apps']": [(1, "include begins with an exception, '!apps', and matches nothing")],
    "include: [../a]": [(1, "include '../a' is not a pattern as in .gitignore, relative to the repository's root")],
    "kubernetes-version: 1": [(1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got '1'")],
    "kubernetes-version: 2.9": [
        (1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got '2.9'")
    ],
    "kubernetes-version: latest": [
        (1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got 'latest'")
    ],
    "kubernetes-version: '1.33+'": [
        (1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got '1.33+'")
    ],
    "kubernetes-version: [1.33]": [
        (1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got a list")
    ],
    "kubernetes-version: .inf": [
        (1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got '.inf'")
    ],
    "kubernetes-version:": [
        (1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got nothing")
    ],
    "kubernetes-version: 'v1.3'": [
        (1, "kubernetes-version 'v1.3' is older than any that Flux has run on, 1.16, did you mean 1.30?")
    ],
    "kubernetes-version: 1.15": [(1, "kubernetes-version '1.15' is older than any that Flux has run on, 1.16")],
    "needs-approval: rbac": [(1, "needs-approval expects a list, got text")],
    "needs-approval: [rbca]": [
        (
            1,
            (
                "needs-approval 'rbca' is not one of api-removed, component, rbac, network-policy, "
                "arguments, namespace, schema, did you mean 'rbac'?"
            ),
        )
    ],
    "needs-approval: [rbac, rbac]": [(1, "needs-approval has 'rbac' twice")],
    "flux-operator: true": [(1, "flux-operator expects one of report, change, got true or false")],
    "forge: gittea": [(1, "forge 'gittea' is not one of github, gitlab, gitea, forgejo, git, did you mean 'gitea'?")],
    "auto-merge: major": [(1, "auto-merge 'major' is not one of none, patch, minor")],
    "schedule: '0 9 * * *'": [
        (
            1,
            "schedule '0 9 * * *' is not a cron schedule of five fields with `*` for the minute, such as '* 9-15 * * 1-4'",
        )
    ],
    "schedule: '* 9 * *'": [
        (
            1,
            "schedule '* 9 * *' is not a cron schedule of five fields with `*` for the minute, such as '* 9-15 * * 1-4'",
        )
    ],
    "schedule: ['* 9 * * *', '* 9 * * *']": [(1, "schedule has '* 9 * * *' twice")],
    "schedule: 9": [(1, "schedule expects a list, got a number")],
    "timezone: ../../etc/passwd": [
        (1, "timezone '../../etc/passwd' is not the name of a time zone, such as Europe/Berlin")
    ],
    "limits: 5": [(1, "limits expects a mapping, got a number")],
    "limits: {opens: 5}": [(1, "unknown key 'opens', did you mean 'open'?")],
    "limits: {open: -1}": [(1, "open expects a whole number from 0 to 9999, got '-1'")],
    "limits: {new-drafts: '5'}": [(1, "new-drafts expects a whole number from 0 to 9999, got '5'")],
    "limits: {new: 1.5}": [(1, "new expects a whole number from 0 to 9999, got '1.5'")],
    "limits: {minutes: 10000}": [(1, "minutes expects a whole number from 0 to 9999, got '10000'")],
    "limits: {drafts: [1]}": [(1, "drafts expects a whole number from 0 to 9999, got a list")],
    "groups:\n  a:\n    paths: [a]\n    limits: {}": [(4, "key 'limits' belongs to the top level")],
    "cool-down: {patch: 7}": [(1, "patch expects a duration like 0, 12h, 7d or 2w, got '7'")],
    "cool-down: {minor: 7 days}": [(1, "minor expects a duration like 0, 12h, 7d or 2w, got '7 days'")],
    "cool-down: {minor: -1d}": [(1, "minor expects a duration like 0, 12h, 7d or 2w, got '-1d'")],
    "cool-down: {minor: 99999d}": [(1, "minor expects a duration like 0, 12h, 7d or 2w, got '99999d'")],
    "cool-down: {minor: [1d]}": [(1, "minor expects a duration like 0, 12h, 7d or 2w, got a list")],
    "cool-down: {minor: ''}": [(1, "minor expects a duration like 0, 12h, 7d or 2w, got text")],
    "cool-down: {minor: !mine 0}": [(1, "minor expects a duration like 0, 12h, 7d or 2w, got '0'")],
    "range: ' '": [(1, "range ' ' is not a range of versions in quotes, such as '>=2.6'")],
    "labels: ['a,b']": [(1, "labels 'a,b' is not a label (at most 50 characters, no comma)")],
    "labels: [' a']": [(1, "labels ' a' is not a label (at most 50 characters, no comma)")],
    "labels: ['a ']": [(1, "labels 'a ' is not a label (at most 50 characters, no comma)")],
    'labels: ["a\\e[31mb"]': [(1, "labels 'a\ufffd[31mb' is not a label (at most 50 characters, no comma)")],
    'ignore: ["a\\e[31mb"]': [
        (1, "ignore 'a\ufffd[31mb' is not a pattern as in .gitignore, relative to the repository's root")
    ],
    "labels: ['']": [(1, "labels '' is not a label (at most 50 characters, no comma)")],
    f"labels: [{'a' * 51}]": [(1, f"labels '{'a' * 51}' is longer than 50 characters")],
    "labels: [a, b, a]": [(1, "labels has 'a' twice")],
    "reviewers: ['@octocat']": [(1, "reviewers '@octocat' is not a login or org/team, without @")],
    "reviewers: [a/b/c]": [(1, "reviewers 'a/b/c' is not a login or org/team, without @")],
    "reviewers: [me@example.com]": [(1, "reviewers 'me@example.com' is not a login or org/team, without @")],
    "assignees: [org/team]": [(1, "assignees 'org/team' is not a login, without @")],
    "ignore: ['']": [(1, "ignore '' is not a pattern as in .gitignore, relative to the repository's root")],
    "ignore: [./a]": [(1, "ignore './a' is not a pattern as in .gitignore, relative to the repository's root")],
    "ignore: [a/../b]": [(1, "ignore 'a/../b' is not a pattern as in .gitignore, relative to the repository's root")],
    "ignore: ['#a']": [(1, "ignore '#a' is not a pattern as in .gitignore, relative to the repository's root")],
    "ignore: ['a\\']": [(1, "ignore 'a\\' is not a pattern as in .gitignore, relative to the repository's root")],
    "ignore: ['[[:alpha:]]']": [
        (1, "ignore '[[:alpha:]]' is not a pattern as in .gitignore, relative to the repository's root")
    ],
    "ignore: ['!a', b]": [(1, "ignore begins with an exception, '!a', and matches nothing")],
    "groups:\n  a b: {paths: [a]}": [
        (2, "group 'a b' is not the name of a group (a-z, A-Z, 0-9, and after the first '.', '_' and '-')")
    ],
    # Flags
    "flags: {namespace: other}": [
        (1, "flag 'namespace' cannot change in an upgrade: Flux would be installed a second time")
    ],
    "flags: {version: v2.9.4}": [(1, "flag 'version' is set by policy and range")],
    "flags: {network-policy: maybe}": [(1, "network-policy expects true or false, got 'maybe'")],
    "flags: {network-policy: 'false'}": [(1, "network-policy expects true or false, got 'false' in quotes")],
    "flags: {network-policy: 0}": [(1, "network-policy expects true or false, got a number")],
    "flags: {log-level: trace}": [(1, "--log-level 'trace' is not one of debug, info, error")],
    "flags: {log-level: [debug]}": [(1, "log-level expects text, got a list")],
    "flags: {components: [source-controler]}": [
        (1, "component 'source-controler' does not exist in this release, did you mean 'source-controller'?")
    ],
    "flags: {components: []}": [(1, "--components is empty")],
    "flags: {components: [source-watcher, source-watcher]}": [(1, "component 'source-watcher' is listed 2 times")],
    "flags: {components: ['source-watcher,helm-controller']}": [
        (1, "components: 'source-watcher,helm-controller' is not one item")
    ],
    "flags: {components-extra: [watcher]}": [
        (1, "component 'watcher' does not exist in this release, did you mean 'source-watcher'?")
    ],
    "flags: {components-extra: 5}": [(1, "components-extra expects a list, got a number; put it in quotes")],
    "flags: {registry: https://example.com}": [
        (1, "--registry 'https://example.com' is not the start of an image name like ghcr.io/fluxcd")
    ],
    "flags: {image-pull-secret: Mine}": [
        (1, "--image-pull-secret 'Mine' is not a DNS name that YAML reads as a string")
    ],
    "flags: {image-pull-secret: 5}": [(1, "image-pull-secret expects text, got a number; put it in quotes")],
    "flags: {cluster-domain: ''}": [(1, "--cluster-domain '' is not a DNS name like cluster.local")],
    "flags: {toleration-keys: [a b]}": [(1, "--toleration-keys: 'a b' is not a key that a taint can have")],
    "flags: {toleration-keys: [['a']]}": [(1, "an item of toleration-keys expects text, got a list")],
    # All at once, in the order of the lines; what an alias repeats once.
    "groups:\n  a:\n    policy: x\n    flags: &f {a: 1}\n  b:\n    paths: [b]\n    flags: *f\nforge: y": [
        (3, "policy 'x' is not one of none, patch, minor, major"),
        (3, "group 'a' has no paths"),
        (4, "unknown flag 'a'"),
        (8, "forge 'y' is not one of github, gitlab, gitea, forgejo, git"),
    ],
}

# What JSON Schema cannot say, or a YAML reader takes before a schema could.
BEYOND_SCHEMA: dict[str, list[tuple[int, str]]] = {
    "groups:\n  a: {paths: [a], after: [c]}\n  b: {paths: [b], after: d}": [
        (2, "group 'a' comes after 'c', which does not exist"),
        (3, "group 'b' comes after 'd', which does not exist"),
    ],
    "groups:\n  a:\n    paths: [a]\n    after:\n      - c": [(4, "group 'a' comes after 'c', which does not exist")],
    "groups:\n  a: {paths: [a], after: b}\n  b: {paths: [b], after: a}": [(2, "groups wait for each other: a → b → a")],
    "groups:\n  a: {paths: [a], after: a}": [(2, "groups wait for each other: a → a")],
    "groups:\n  a: {paths: [a]}\n  b: {paths: [b], after: b}": [(3, "groups wait for each other: b → b")],
    "groups:\n  a:\n    paths: [a]\n    soak: 3d\n  b: {paths: [b], after: a}": [
        (4, "soak has no effect in group 'a', which has no after: move it to the group that comes after it, 'b'")
    ],
    "groups:\n  a: {paths: [a], soak: 3d}\n  b: {paths: [b], after: a}\n  c: {paths: [c], after: a}": [
        (2, "soak has no effect in group 'a', which has no after: move it to the group that comes after it, 'b' or 'c'")
    ],
    "groups:\n  a: {paths: [a], after: [], soak: 3d}": [
        (
            2,
            "soak has no effect in group 'a', which has no after: move it to the group that comes after it, or set after",
        )
    ],
    "groups:\n  a: {paths: [a]}\n  b: {paths: [b], after: a, one-release-at-a-time: true}": [
        (3, "one-release-at-a-time has no effect in group 'b', because no group has it in after: move it to a group th")
    ],
    # What `after` says is unknown
    "groups:\n  a: {paths: [a], after: 7, soak: 3d}": [(2, "after expects a list, got a number")],
    # The number 1.3 may have been written as 1.30.
    "kubernetes-version: 1.3": [
        (1, "kubernetes-version '1.3' is older than any that Flux has run on, 1.16, did you mean 1.30?")
    ],
    "kubernetes-version: 1.4_0": [
        (1, "kubernetes-version expects a version of Kubernetes like 1.33 or v1.33.4, got '1.4_0'")
    ],
    "range: '>>2'": [(1, "range '>>2' is not a range: ")],
    "schedule: ['* 9 * * *', '* 25 * * *']": [(1, "schedule '* 25 * * *' never matches: check its hour")],
    "schedule: ['* * 30 2 *', '* * 31 4,6,9,11 *']": [
        (1, "schedule '* * 30 2 *' never matches: check its day-of-month"),
        (1, "schedule '* * 31 4,6,9,11 *' never matches: check its day-of-month"),
    ],
    "schedule: '* * * * MON-THU-FRI'": [(1, "schedule '* * * * MON-THU-FRI' never matches: check its day-of-week")],
    "policy: patch\nschedule: ['* 9 * * *', '* 2 * 3 SUN#2']\ntimezone: America/New_York": [
        (
            2,
            (
                "schedule '* 2 * 3 SUN#2' never opens in America/New_York, because the clock skips that hour on each "
                "of these days: add another hour or change timezone"
            ),
        )
    ],
    # In the group that has the time zone, and in the group that has the schedule
    "schedule: '* 2 * 3 0L'\ngroups:\n  a:\n    paths: [a]\n    timezone: Europe/Berlin\n  b: {paths: [b]}": [
        (5, "schedule '* 2 * 3 0L' never opens in Europe/Berlin, ")
    ],
    "timezone: Europe/Berlin\ngroups:\n  a:\n    paths: [a]\n    schedule: '* 2 * 3 0L'": [
        (5, "schedule '* 2 * 3 0L' never opens in Europe/Berlin, ")
    ],
    # The group's own schedule is unknown
    "schedule: '* 2 * 3 0L'\ngroups:\n  a: {paths: [a], schedule: 9, timezone: Europe/Berlin}": [
        (3, "schedule expects a list, got a number")
    ],
    "also:\n  - {files: [a], match: x}": [(2, "match 'x' has no group (?<version>…)")],
    "also:\n  - {files: [a], match: '(?<other>x)'}": [(2, "match '(?<other>x)' has no group (?<version>…)")],
    "also:\n  - {files: [a], match: '(?<version>x)|(?P<version>y)'}": [
        (2, "match '(?<version>x)|(?P<version>y)' has the group (?<version>…) twice")
    ],
    "also:\n  - files: [a]\n    match: (?<version>x": [
        (3, "match '(?<version>x' is not a regular expression of RE2: missing ): (?<version>x")
    ],
    "also:\n  - {files: [a], match: '(?<!a)(?<version>x)'}": [
        (2, "match '(?<!a)(?<version>x)' is not a regular expression of RE2: invalid perl operator: (?<!")
    ],
    "also:\n  - {files: [a], match: '(?<version>a)\\1'}": [
        (2, r"match '(?<version>a)\1' is not a regular expression of RE2: invalid escape sequence: \1")
    ],
    "also:\n  - {files: [a], match: '(?<version>(?:(?:a?b?){30}){30})'}": [
        (2, "match '(?<version>(?:(?:a?b?){30}){30})' is too large for RE2: repeat less in it")
    ],
    "also:\n  - {files: [a], match: '(?<version>x)', for: cli, cluster: a}": [
        (2, "cluster has no effect with for: cli")
    ],
    "timezone: Europe/Berln": [(1, "timezone 'Europe/Berln' is not a time zone of the IANA database")],
    "timezone: Europe": [(1, "timezone 'Europe' is not a time zone of the IANA database")],
    "ignore: ['a[']": [(1, "ignore 'a[' matches nothing")],
    "flags: {image-pull-secret: 'yes'}": [
        (1, "--image-pull-secret 'yes' is not a DNS name that YAML reads as a string")
    ],
    "policy: patch\nlabels: []\npolicy: minor": [(3, "key 'policy' is given twice, first in line 1")],
    "flags:\n  log-level: debug\n  log-level: info": [(3, "key 'log-level' is given twice, first in line 2")],
    "groups:\n  a: {paths: [a]}\n  a: {paths: [b]}": [(3, "key 'a' is given twice, first in line 2")],
    "groups:\n  a.b: {paths: [a]}\n  A-b: {paths: [b]}": [(3, "group 'A-b' would have the branches of group 'a.b'")],
    "groups:\n  1: {paths: [a]}": [(2, "a key must be text; put it in quotes")],
    "? [a]\n: b": [(1, "a key must be text; put it in quotes")],
    "policy: patch\n---\npolicy: minor": [(2, "a second YAML document begins here")],
    "policy: patch\n\tlabels: []": [(2, "invalid YAML: ")],
    "labels:\n\t- a": [(2, "invalid YAML: YAML is indented with spaces, but this line has a tab")],
    "policy: [}": [(1, "invalid YAML: ")],
    "policy: *nothing": [(1, "invalid YAML: found undefined alias")],
    "labels: []\npolicy: \udcff": [(2, "the file is not UTF-8 text")],
    "labels: []\npolicy: a\u0000b": [(2, "invalid YAML: ")],
    "groups:\n  a: &a\n    <<: *a\n    paths: [a]": [(2, "'<<' merges a mapping into itself")],
    "groups: {a: {<<: text, paths: [a]}}": [(1, "'<<' expects a mapping or a list of mappings, got text")],
    "labels: " + "[" * 60 + "]" * 60: [(1, "this is nested too deeply")],
    "# " + "a" * 1_000_000: [(1, "the file has more than 1000000 characters")],
}

VALID = (
    "",
    "# nothing\n",
    "{}",
    EXAMPLE,
    EMPTY_GROUP,
    "policy: none",
    "range: 2.x",
    "range: '>=2.6 <2.9 || ~2.4'",
    "pending: summary",
    "cool-down: {patch: 0, minor: '0'}",
    "cool-down: {}",
    "limits: {}",
    "limits: {open: 0, new: 1, drafts: 9999, new-drafts: 0, minutes: 330}",
    "cool-down: {patch: 0d, minor: 9999w}",
    "labels: [flux, 'area/flux: upgrade', Größe, '#1']",
    "labels: []",
    "reviewers: [octocat, org/team, a-b_corp, a.b, org/team-a_b]",
    "assignees: [octocat]",
    "auto-merge: patch",
    "auto-merge: minor",
    "schedule: '* 9-15 * * 1-4'",
    "schedule: ['* * 29 2 *', '* 22-23,0-5 * JAN,DEC MON#1', '* * L * *']",
    "schedule: []",
    "schedule: '* 2 * 3 0L'",
    "{schedule: '* 2-3 * 3 0L', timezone: Europe/Berlin}",
    "{timezone: Europe/Berlin, groups: {a: {paths: [a], timezone: UTC, schedule: '* 2 * 3 0L'}}}",
    "timezone: America/Argentina/Buenos_Aires",
    "timezone: Etc/GMT+5",
    "known: []",
    KNOWN.replace("2027-03-31", "'2027-03-31', migrated: true, root: ., reads: ['/a/', '!b'], variables: {a_1: ''}}"),
    "also: []",
    "also: [{files: [a], match: '(?<version>.*)'}]",
    "also: [{files: [/Makefile, '!b'], match: '(?P<version>.*)', for: cluster, cluster: clusters/a/}]",
    "also: [{files: ['**'], match: '(?<version>.*)', for: cli}, {files: [a], match: '(?<version>.*)', cluster: .}]",
    "also: [{files: [a], match: '\\(?<version>?(?<version>x)'}]",
    "branch-prefix: bots/flux-",
    "flux-operator: report",
    "migrate: off",
    "migrate: 'off'",
    "migrate: before",
    "multi-step: off",
    "multi-step: 'on'",
    "multi-step: true",
    "include: []",
    "include: [apps, '!apps/old']",
    "kubernetes-version: 1.30",
    "kubernetes-version: '1.33'",
    "kubernetes-version: v1.33.4-gke.100",
    "extends: octo-org/platform/.github/flux-upgrade.yaml@0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
    "needs-approval: []",
    "needs-approval: [api-removed, component, rbac, network-policy, arguments, namespace, schema]",
    *(f"forge: {forge}" for forge in ("github", "gitlab", "gitea", "git")),
    "ignore: ['archive/**', '!archive/keep', /a, a/, '*.yaml', 'a b', '\\!a', '\\#a', '[!a]b', '...']",
    "ignore: [a, '!a', a]",
    "groups: {}",
    "groups: {a.b_C-1: {paths: [a], policy: major, flags: {}}}",
    "groups: {a: {paths: [a], range: 2.x, pending: draft, cool-down: {}, labels: [], reviewers: [], assignees: [], auto-merge: none}}",
    "groups: {a: {paths: [a], soak: 0}, b: {paths: [b], after: a, soak: 3d}}",
    "groups: {a: &a {paths: [a], soak: 0}, b: {<<: *a, after: a, soak: 3d}}",
    "flags: {}",
    "flags: {network-policy: true, watch-all-namespaces: false}",
    "flags: {components: [source-controller], components-extra: [source-watcher]}",
    "flags: {components: 'source-controller,helm-controller', components-extra: ''}",
    "flags: {components-extra: [source-controller], toleration-keys: []}",
    "flags: {registry: 'localhost:5000/fluxcd/', image-pull-secret: pull.secret}",
    "flags: {registry: '', image-pull-secret: ''}",
    "flags: {cluster-domain: k8s.example.com, log-level: error}",
    "flags: {toleration-keys: ['node.kubernetes.io/x', '*', a]}",
    "flags: {toleration-keys: 'a,b'}",
)


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(InvalidConfig) as caught:
        load(text, "x.yaml")
    lines = [each.split(":", 2) for each in caught.value.message.split("\n")]
    assert {path for path, _, _ in lines} == {"x.yaml"}
    assert "docs/reference/config.md" in caught.value.hint
    return [(int(line), message.removeprefix(" ")) for _, line, message in lines]


@pytest.mark.parametrize(("text", "expected"), PROBLEMS.items(), ids=[*PROBLEMS])
def test_every_problem_is_reported_with_its_line(text: str, expected: list[tuple[int, str]]) -> None:
    assert problems(text) == expected


@pytest.mark.parametrize(("text", "expected"), BEYOND_SCHEMA.items(), ids=[each[:40] for each in BEYOND_SCHEMA])
def test_every_problem_beyond_the_schema_is_reported_too(text: str, expected: list[tuple[int, str]]) -> None:
    found = problems(text)
    assert [line for line, _ in found] == [line for line, _ in expected]
    for (_, message), (_, begin) in zip(found, expected, strict=True):
        assert message.startswith(begin)


@pytest.mark.parametrize("text", VALID)
def test_a_valid_file_is_read(text: str) -> None:
    load(text, "x.yaml")


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


def plain(text: str) -> Any:
    """As an editor hands it to a schema: JSON's types."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("!mine", lambda *_: "!mine")
    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda *_: {"a": "date"})
    return json.loads(json.dumps(yaml.load(text, Loader=Loader), default=list))  # noqa: S506 a safe loader


@pytest.mark.parametrize("text", VALID)
def test_the_schema_takes_what_the_loader_takes(text: str) -> None:
    validator().validate(plain(text))


@pytest.mark.parametrize("text", PROBLEMS)
def test_the_schema_refuses_what_the_loader_refuses(text: str) -> None:
    assert not validator().is_valid(plain(text))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert "$id" not in schema()


PREFIXES = (
    "flux-upgrade/", "a", "bots/flux-", "a.b/", "ä/", "@", "a@", "a.", "A{", "x.lock", "a/b/c-", "-a", "a/-",
    "/a", ".a", "a/.", "a//", "a..b", "a b", "a~", "a^", "a:", "a?", "a*", "a[", "a\\", "a@{", "x.lock/", "a\tb",
    "a\x7f", "", "./", "a/./b", "refs/heads/a",
)  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_branch_prefix_is_one_that_git_takes(prefix: str) -> None:
    git = subprocess.run(  # noqa: S603 git itself
        ["git", "check-ref-format", "--branch", f"{prefix}staging-minor"],  # noqa: S607 wherever it is
        check=False,
        capture_output=True,
    )
    text = f"branch-prefix: {json.dumps(prefix)}"
    # Git would take these two; every branch would be ours, or none where a person looks for it.
    if git.returncode or prefix in ("", "refs/heads/a"):
        assert problems(text) == [
            (
                1,
                f"branch-prefix '{prefix.translate({9: 65533, 127: 65533})}' is not the beginning of a branch's name as Git allows it",
            )
        ]
        assert not validator().is_valid(plain(text))
    else:
        assert load(text, "x").branch_prefix == prefix
        validator().validate(plain(text))


def test_merging_aliases_again_and_again_takes_no_time() -> None:
    levels = "".join(f"  g{n + 1}: &g{n + 1} {{<<: [{', '.join([f'*g{n}'] * 9)}]}}\n" for n in range(40))
    loaded = load(f"groups:\n  g0: &g0 {{paths: [a]}}\n{levels}", "x")
    assert {group.paths for group in loaded.groups} == {("a",)}


def test_a_message_is_no_longer_than_a_person_reads() -> None:
    (problem,) = problems(f"flags: {{registry: '{'a b' * 10_000}'}}")
    assert len(problem[1]) < 500


def test_the_published_documents_are_current() -> None:
    assert json.loads((REFERENCE / "config.schema.json").read_text(encoding="utf-8")) == schema()
    assert reference() in (REFERENCE / "config.md").read_text(encoding="utf-8")
    assert EXAMPLE in reference()
