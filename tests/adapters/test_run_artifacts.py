"""The newest report that a repository's workflows uploaded, from GitHub's API and the storage that it leads to."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from github_stand_in import StandIn, Token
from github_stand_in.model import Artifact

import written_fleet
from adapters.loopback import Answer, Loopback
from error_names import require_error
from flux_upgrade import main
from flux_upgrade.adapters.github import run_artifacts
from flux_upgrade.adapters.github.run_artifacts import report_in
from flux_upgrade.model.errors import NoReport, UsageError
from flux_upgrade.model.timing import Timing
from stand_in.checked import checked

NAME = "flux-upgrade-report"
FILE = "flux-upgrade-report.json"
OCTO = ("octo-org/data-fleet", "octo-org/shop-fleet")


def zipped(files: Mapping[str, bytes]) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return found.getvalue()


@dataclass
class World:
    """GitHub, and the storage of what workflows upload."""

    hub: StandIn
    storage: Loopback
    token: Token

    def upload(self, repository: str, content: bytes, **fields: Any) -> None:
        artifacts = self.hub.repositories[repository].artifacts
        number = self.hub.next_id()
        url = f"{self.storage.url}/artifacts/{number}?sig=hush-hush"
        self.storage.route(f"/artifacts/{number}?sig=hush-hush", Answer(content))
        given: dict[str, Any] = {
            "name": NAME,
            "created_at": f"2026-08-{10 + len(artifacts)}T05:17:00Z",
            "size": len(content),
            **fields,
        }
        artifacts.append(Artifact(id=number, storage_url=url, **given))

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        env = {
            "GITHUB_TOKEN": self.token.value,
            "GITHUB_API_URL": self.hub.api_url,
            "GITHUB_GRAPHQL_URL": self.hub.graphql_url,
            "GITHUB_SERVER_URL": self.hub.url,
        }
        timing = Timing(now=written_fleet.NOW.timestamp, sleep=lambda _: None, jitter=lambda: 0.0)
        out, err = io.BytesIO(), io.StringIO()
        code = main.run(["fleet", *arguments, "--json"], env, out, err, timing)
        return code, out.getvalue().decode(), err.getvalue()


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with checked(tmp_path) as hub, Loopback() as storage:
        for name in OCTO:
            hub.create_repository(name, {"a": b""}, is_private=True)
        yield World(hub, storage, hub.token("app", {"actions": "read"}))


def report(repository: str, version: str) -> bytes:
    installations = [written_fleet.installation("clusters/production", version)]
    return json.dumps(written_fleet.report(repository, installations)).encode()


def versions(text: str) -> dict[str, str]:
    return {row["repository"]: row["current"] for row in json.loads(text)["rows"]}


def test_the_newest_report_of_each_repository(on: World) -> None:
    for name, version in zip(OCTO, ("v2.9.4", "v2.8.8"), strict=True):
        on.upload(name, zipped({FILE: report(name, "v2.6.4")}))
        on.upload(name, zipped({FILE: report(name, version)}))
        on.upload(name, zipped({FILE: report(name, "v2.7.5")}), name="another")
    code, out, err = on.run(*(f"--repository={name}" for name in OCTO))
    assert (code, err) == (0, "")
    assert versions(out) == {OCTO[0]: "v2.9.4", OCTO[1]: "v2.8.8"}
    assert [call.path for call in on.hub.calls if "zip" not in call.path] == [
        f"/repos/{name}/actions/artifacts" for name in OCTO
    ]


def test_the_storage_gets_no_token(on: World) -> None:
    on.upload(OCTO[0], zipped({FILE: report(OCTO[0], "v2.9.4")}))
    assert on.run(f"--repository={OCTO[0]}")[0] == 0
    (seen,) = on.storage.seen
    assert "authorization" not in seen.headers
    assert on.token.value not in str(seen)


def test_a_list_of_repositories(on: World, tmp_path: Path) -> None:
    for name in OCTO:
        on.upload(name, zipped({FILE: report(name, "v2.9.4")}))
    listed = tmp_path / "repositories.txt"
    listed.write_text(f"# ours\n{OCTO[0]}\n\n{OCTO[1]} # the shop\n")
    code, out, _ = on.run(f"--repositories={listed}")
    assert (code, {*versions(out)}) == (0, {*OCTO})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param({"is_expired": True}, "it has no artifact", id="expired"),
        pytest.param({"is_of_fork": True}, "it has no artifact", id="of-a-fork"),
        pytest.param({"name": "another"}, "it has no artifact", id="of-another-name"),
    ],
)
def test_a_repository_without_a_report_is_a_row(fields: Mapping[str, Any], why: str, on: World) -> None:
    on.upload(OCTO[0], zipped({FILE: report(OCTO[0], "v2.9.4")}))
    on.upload(OCTO[1], zipped({FILE: report(OCTO[1], "v2.9.4")}), **fields)
    code, out, err = on.run(*(f"--repository={name}" for name in OCTO))
    require_error(NoReport, code, err)
    first, second = json.loads(out)["rows"]
    assert (first["repository"], first["state"], second["state"]) == (OCTO[1], "no-report", "up-to-date")
    assert first["why"].startswith(why)
    assert f"{OCTO[1]}: {why}" in err


def test_an_older_report_of_the_repository_counts_where_a_fork_uploaded_a_newer_one(on: World) -> None:
    on.upload(OCTO[0], zipped({FILE: report(OCTO[0], "v2.9.4")}))
    on.upload(OCTO[0], zipped({FILE: report(OCTO[0], "v2.6.4")}), is_of_fork=True)
    assert versions(on.run(f"--repository={OCTO[0]}")[1]) == {OCTO[0]: "v2.9.4"}


def test_a_token_that_may_not_read_is_a_row_with_the_permission(on: World) -> None:
    on.upload(OCTO[0], zipped({FILE: report(OCTO[0], "v2.9.4")}))
    on.token = on.hub.token("app", {"actions": "read"}, repositories=(OCTO[0],))
    code, out, err = on.run(*(f"--repository={name}" for name in OCTO))
    require_error(NoReport, code, err)
    assert {row["state"] for row in json.loads(out)["rows"]} == {"up-to-date", "no-report"}
    assert "actions: read" in err


def test_nothing_could_be_read(on: World) -> None:
    code, out, err = on.run(f"--repository={OCTO[0]}")
    (row,) = json.loads(out)["rows"]
    assert (code, row["state"], row["repository"]) == (NoReport.exit_code, "no-report", OCTO[0])
    assert row["why"].startswith("it has no artifact")
    assert err.startswith(f"flux-upgrade: no report could be read: {OCTO[0]}: it has no artifact")


def test_without_a_token(on: World) -> None:
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["fleet", f"--repository={OCTO[0]}"], {}, out, err)
    require_error(UsageError, code, err.getvalue())
    assert "set GITHUB_TOKEN" in err.getvalue()
    assert on.hub.calls == []


def test_the_zip_is_larger_than_is_read(on: World) -> None:
    on.upload(OCTO[0], bytes(run_artifacts.MAX_ZIP + 1))
    code, _, err = on.run(f"--repository={OCTO[0]}")
    require_error(NoReport, code, err)
    assert f"returned more than {run_artifacts.MAX_ZIP} bytes" in err
    assert "hush-hush" not in err


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "not a zip", id="empty"),
        pytest.param(b"<html>", "not a zip", id="a-page"),
        pytest.param(zipped({FILE: b"{}"})[:-30], "not a zip", id="broken-off"),
        pytest.param(zipped({}), "exactly one", id="no-file"),
        pytest.param(zipped({"a.txt": b""}), "exactly one", id="no-json"),
        pytest.param(zipped({"a.json": b"", "b.json": b""}), "exactly one", id="two"),
        pytest.param(zipped({FILE: b"{}", **{f"{n}": b"" for n in range(99)}}), "exactly one", id="many"),
        pytest.param(zipped({FILE: bytes(run_artifacts.MAX_REPORT + 1)}), "larger than", id="a-bomb"),
        pytest.param(
            zipped({FILE: b"{}" * 50}).replace(b"\x00\x00\x08\x00", b"\x01\x00\x08\x00"), "damaged", id="encrypted"
        ),
        pytest.param(
            zipped({FILE: b"{}" * 50}).replace(b"\x00\x00\x08\x00", b"\x00\x00\x61\x00"), "damaged", id="unknown"
        ),
    ],
)
def test_what_is_no_report_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(NoReport, match=why):
        report_in(content)


def test_a_name_that_leads_out_of_the_folder_is_only_a_name() -> None:
    assert report_in(zipped({"../../report.json": b"{}"})) == b"{}"
