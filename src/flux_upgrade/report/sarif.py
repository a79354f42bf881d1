"""What ``check`` found as SARIF, which code scanning reads.

Format: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", errata 01; what GitHub
takes of it: https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support-for-code-scanning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from flux_upgrade import __version__
from flux_upgrade.findings.finding import Finding, KnownChange
from flux_upgrade.findings.kinds import hits
from flux_upgrade.findings.phrases import TEXT, api
from flux_upgrade.model.text import printable
from flux_upgrade.model.versions import Version
from flux_upgrade.report.api_uses import ApiUsesReport, sentence

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_REMOVED = "api-removed"
_ROOT = "%SRCROOT%"  # What a consumer resolves paths against: the root of the repository

Json = dict[str, Any]


def sarif(found: ApiUsesReport) -> str:
    """One run: a result for each use that breaks, and for each resource that behaves differently."""
    target = found.assessed.target
    changes = list(hits(found.uses, Version(target), TEXT))
    rules = {each.change.rule: _rule_of_change(each.change) for each in changes if each.change is not None}
    removed = [
        _result(_REMOVED, "error", f"{sentence(found, each)} ({api(each.use)})", each.use.path, each.use.line)
        for each in found.breaking
    ]
    failures = [
        {"level": "error", "message": {"text": printable(f"{path}: {error.message}")}, "descriptor": {"id": error.slug}}
        for path, error in found.failures.items()
    ]
    driver = {
        "name": "flux-upgrade",
        "semanticVersion": __version__,
        "rules": [_rule_of_removals(target), *(rules[name] for name in sorted(rules))],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not failures, "toolExecutionNotifications": failures}],
        "results": [*removed, *_changes(changes)],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule_of_removals(target: str) -> Json:
    said = f"Flux {target} does not serve this API version"
    return {
        "id": _REMOVED,
        "shortDescription": {"text": said},
        "help": {"text": f"Run `flux-upgrade migrate --to {target}`, which also renames fields."},
        "defaultConfiguration": {"level": "error"},
    }


def _rule_of_change(change: KnownChange) -> Json:
    return {
        "id": change.rule,
        "shortDescription": {"text": printable(f"Flux {change.since}: {change.what}")},
        "helpUri": change.source,
        "defaultConfiguration": {"level": "warning"},
    }


def _changes(changes: list[Finding]) -> Iterator[Json]:
    for each in changes:
        if each.change is not None:
            yield _result(each.change.rule, "warning", f"{each.names[0]}: {each.message}", each.path, each.line)


def _result(rule: str, level: str, message: str, path: str, line: int) -> Json:
    """``path``: relative to the root of the repository."""
    artifact = {"uri": _uri(path), "uriBaseId": _ROOT}
    place = {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": max(line, 1)}}}
    return {"ruleId": rule, "level": level, "message": {"text": printable(message)}, "locations": [place]}


def _uri(path: str) -> str:
    """A relative reference (RFC 3986): other bytes than those of plain names are escaped."""
    return re.sub(rb"[^\w./-]", lambda found: b"%%%02X" % found[0][0], path.encode(errors="surrogateescape")).decode()
