"""The Action gets from its inputs to its outputs as GitHub's runner runs it, against the stand-in for GitHub."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from github_stand_in import Rule

from adapters.registries import running_registry
from e2e.fleet import PERMISSIONS, WHERE, Fleet, everything, git, image_of, plain
from e2e.runner import Result
from error_names import require_error
from flows import fleet, manifest, path_in
from flux_upgrade.action.action_yml import OUTPUTS, REPORT_FILE
from flux_upgrade.model.errors import (
    CheckoutDiffers,
    EditConflict,
    FluxUpgradeError,
    ForbiddenByForge,
    InvalidConfig,
    NothingFound,
    RepositoryUnfit,
    SourceUnavailable,
    UsageError,
)
from promotion.program import Seen, Site
from real_parts import require_program

PATCH, MINOR = "flux-upgrade/clusters.staging/patch", "flux-upgrade/clusters.staging/minor"
STAGING = path_in("clusters/staging")
SUMMARY = (
    "## Flux\n\n"
    "**1 cluster: 1 ready.** 2 pull requests opened.\n\n"
    "| Cluster | Pull request | Version | Size | State |\n"
    "| --- | --- | --- | --- | --- |\n"
    "| `clusters/staging` | [#1](http://HOST/octo-org/fleet/pull/1) opened | v2.8.7 → v2.8.8 | patch | ready |\n"
    "| `clusters/staging` | [#2](http://HOST/octo-org/fleet/pull/2) opened, draft | v2.8.7 → v2.9.4 | minor "
    "| needs approval |\n\n"
    "### Next steps\n\n"
    "1. Upgrade to v2.8.8: merge [#1](http://HOST/octo-org/fleet/pull/1)\n"
    "2. Approve Flux 2.9: mark [#2](http://HOST/octo-org/fleet/pull/2) as ready for review\n\n"
    "**To approve**, mark the draft as ready for review, or "
    "[run the workflow](http://HOST/octo-org/fleet/actions/workflows/flux-upgrade.yaml) with `approve`, or run:\n\n"
    "```sh\ngh workflow run flux-upgrade.yaml -f approve=2.9\n```\n"
)


@pytest.fixture
def fleet_on(tmp_path: Path) -> Iterator[Fleet]:
    """The repository with one installation, the action in a process."""
    with Fleet(tmp_path) as opened:
        yield opened


def report(done: Result) -> dict[str, object]:
    written: dict[str, object] = json.loads((done.temp / REPORT_FILE).read_text())
    assert written == json.loads(done.outputs["report"])
    return written


def failed(done: Result, error: type[FluxUpgradeError], text: str) -> None:
    """It ended red for one reason, which is said once, and did nothing."""
    slug = error.slug
    assert done.exit_code == error.exit_code, done.log
    (annotation,) = (each for each in done.annotations if each.level == "error")
    assert annotation.properties == {"title": f"flux-upgrade: {slug}"}
    assert text in annotation.message
    assert annotation.message.count("\n") <= 1
    assert done.outputs == {"outcome": "failed"}
    assert text.split("`", maxsplit=1)[0] in done.summary.replace("\\", "")
    assert "Traceback" not in done.log


# The journey


@WHERE
def test_an_artifact_is_promoted_and_taken_back(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    with (
        running_registry(tmp_path / "registry") as url,
        Fleet(tmp_path, fleet({}), image=image_of(where, request)) as on,
    ):
        site, seen = Site(url, tmp_path, "octo-org/flux"), Seen(url, "octo-org/flux")
        before = site.push("v2.8.7")
        inputs = {"path": site.address, "plain-http": "true"}

        done = on.run(inputs)
        assert done.exit_code == 0, done.log
        assert (done.outputs["outcome"], seen.version()) == ("updated", "v2.8.8")
        assert (done.outputs["digest"], report(done)["outcome"]) == (seen.digest(), "updated")
        assert seen.manifest()["annotations"]["org.opencontainers.image.revision"].startswith("v2.8.8")

        back = on.run({**inputs, "mode": "rollback"}, event="workflow_dispatch")
        assert (back.exit_code, seen.digest()) == (0, before), back.log
        assert on.run(inputs).outputs["outcome"] == "held"
        assert seen.digest() == before


@WHERE
def test_from_a_schedule_to_an_approval(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with Fleet(tmp_path, fleet({"clusters/staging": "v2.8.7"}), image=image_of(where, request)) as on:
        first = on.run()
        assert first.exit_code == 0, first.log
        assert on.opened() == {PATCH: False, MINOR: True}
        pulls = json.loads(first.outputs["pull-requests"])
        assert first.outputs == {
            "outcome": "opened",
            "current-version": "v2.8.7",
            "target-version": "v2.8.8",
            "pending-version": "v2.9.4",
            "pull-request-number": "",
            "pull-request-url": "",
            "pull-requests": json.dumps(pulls),
            "artifact": "",
            "digest": "",
            "report": first.outputs["report"],
            "report-file": REPORT_FILE,
        }
        assert [(each["operation"], each["target"]) for each in pulls] == [("opened", "v2.8.8"), ("opened", "v2.9.4")]
        assert [each["url"] for each in pulls] == [f"{on.hub.url}/octo-org/fleet/pull/{n}" for n in (1, 2)]
        assert report(first)["outcome"] == "opened"
        assert plain(first.summary).startswith(SUMMARY)
        calls = sum(call.repository != "fluxcd/flux2" for call in on.hub.calls)
        assert report(first)["calls"] == calls
        assert first.annotations == ()
        assert first.masked == (on.token.value,)

        second = on.run()
        assert (second.exit_code, second.outputs["outcome"], on.written()) == (0, "none", [])

        third = on.run({"approve": "2.9"}, event="workflow_dispatch")
        assert (third.exit_code, third.outputs["outcome"]) == (0, "updated")
        assert third.outputs["target-version"] == "v2.9.4"
        assert on.opened() == {PATCH: False, MINOR: False}

        fourth = on.run()
        assert (fourth.outputs["outcome"], on.written()) == ("none", [])
        for done in (first, second, third, fourth):
            assert set(done.outputs) == {each.name for each in OUTPUTS}
            assert on.token.value not in everything(done)


def test_the_image_does_what_a_process_does(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    left: list[tuple[str, str, dict[str, str], object]] = []
    for where in ("process", "image"):
        with Fleet(tmp_path / where, _everything(), image=image_of(where, request)) as on:
            (tmp_path / where).mkdir(exist_ok=True)
            done = on.run()
            outputs = {name: plain(value) for name, value in done.outputs.items()}
            bodies = {number: plain(each.body) for number, each in on.repository.pulls.items()}
            left.append((plain(done.log).replace(on.token.value, "TOKEN"), plain(done.summary), outputs, bodies))
            require_error(EditConflict, done.exit_code, done.log)
    assert left[0] == left[1]


def _everything() -> dict[str, bytes]:
    """Something of all that may become of an installation."""
    versions = dict.fromkeys(("clusters/a", "clusters/b", "old"), "v2.8.8") | {"clusters/c": "v2.9.4"}
    files = fleet(versions, orphans=["old"])
    files[path_in("clusters/b")] = _edited("v2.8.8")
    return files


def _edited(version: str) -> bytes:
    """With an edit that the next minor conflicts with."""
    return manifest(version).replace(b"cpu: 1000m", b"cpu: 1500m")


# What is wrong is said once, and nothing is done


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ({"mode": "upgarde"}, UsageError, "did you mean 'upgrade'?"),
        ({"policy": "minro"}, UsageError, "did you mean 'minor'?"),
        ({"range": "2.x ||"}, UsageError, "one side of || is empty"),
        ({"approve": "latest"}, UsageError, "input `approve` 'latest' is neither a minor nor a version"),
        ({"flags": "netwrok-policy=false"}, UsageError, "did you mean 'network-policy'?"),
        ({"dry-run": "yes"}, UsageError, "must be true or false"),
        ({"path": "../other"}, UsageError, "outside of the workspace"),
        ({"path": "/etc"}, UsageError, "outside of the workspace"),
        ({"path": "no-such-folder"}, UsageError, "no-such-folder"),
        ({"path": "clusters/staging/flux-system/kustomization.yaml"}, NothingFound, "no Flux found"),
        ({"config": "no-such.yaml"}, UsageError, "no-such.yaml cannot be read"),
        ({"release-source": "ftp://flux.example"}, UsageError, "must be github, a directory"),
        ({"release-source": "http://127.0.0.1:9/flux"}, SourceUnavailable, "127.0.0.1:9"),
        ({"ca-file": "no-such.pem"}, UsageError, "no-such.pem"),
        ({"ca-file": "README.md"}, UsageError, "README.md"),
        ({"base": "no-such-branch"}, RepositoryUnfit, "no-such-branch"),
        ({"repository": "octo-org/other"}, ForbiddenByForge, "octo-org/other"),
        ({"token": ""}, UsageError, "the input token is empty"),
        ({"token": "ghs_notAToken"}, ForbiddenByForge, "token"),
    ],
    ids=lambda each: "".join(f"{key}-{value}" for key, value in each.items()) if isinstance(each, dict) else "",
)  # fmt: skip
def test_a_wrong_input_is_one_annotation(
    tmp_path: Path, inputs: Mapping[str, str], error: type[FluxUpgradeError], text: str
) -> None:
    files = {**fleet({"clusters/staging": "v2.8.7"}), "README.md": b"Fleet\n"}
    with Fleet(tmp_path, files) as on:
        done = on.run(inputs)
        failed(done, error, text)
        assert on.written() == []
        assert on.opened() == {}


def test_what_the_forge_warns_of_is_one_annotation(fleet_on: Fleet) -> None:
    fleet_on.repository.settings.rules = (Rule("REQUIRED_SIGNATURES", "main"),)
    fleet_on.token = fleet_on.hub.token("classic", scopes=("repo",))
    done = fleet_on.run({"mode": "plan"})
    (annotation,) = done.annotations
    assert annotation.level == "warning"
    assert f"warning: {annotation.message}\n" in done.log
    assert done.summary.count("> ") == 1


def test_what_is_wrong_and_what_to_do_are_one_note(fleet_on: Fleet) -> None:
    done = fleet_on.run({"mode": "paln"})
    assert done.summary.startswith("> the input mode cannot be 'paln', did you mean 'plan'? → use one of ")


def test_an_input_that_there_is_not_is_a_warning(fleet_on: Fleet) -> None:
    done = fleet_on.run({"polcy": "minor", "mode": "plan"})
    assert [(each.level, each.message) for each in done.annotations] == [
        ("warning", "there is no input 'polcy', did you mean 'policy'?")
    ]
    assert done.exit_code == 0


def test_a_config_file_with_many_mistakes_is_one_annotation(tmp_path: Path) -> None:
    files = {**fleet({"clusters/staging": "v2.8.7"}), ".github/flux-upgrade.yaml": b"polcy: x\nrange: 2\n"}
    with Fleet(tmp_path, files) as on:
        done = on.run()
        (annotation,) = done.annotations
        require_error(InvalidConfig, done.exit_code, done.log)
        assert ".github/flux-upgrade.yaml:1: unknown key 'polcy'" in annotation.message
        assert "flux-upgrade.yaml:2: range" in annotation.message


def test_a_workspace_without_a_checkout(fleet_on: Fleet) -> None:
    fleet_on.workspace.mkdir()
    done = fleet_on.run(is_checked_out=True)
    failed(done, UsageError, "there is no checkout in the workspace")
    assert "actions/checkout" in done.annotations[0].message


def test_outside_of_a_runner(fleet_on: Fleet) -> None:
    done = fleet_on.run(env={"GITHUB_WORKSPACE": ""})
    failed(done, UsageError, "GITHUB_WORKSPACE is not set")


@pytest.mark.parametrize("to", ["folder", "checkout"])
def test_a_path_that_is_a_link_out_of_the_workspace(fleet_on: Fleet, tmp_path: Path, to: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    git("clone", "--quiet", f"file://{fleet_on.repository.git}", str(elsewhere))
    if to == "folder":
        subprocess.run(["rm", "-r", str(elsewhere / ".git")], check=True)  # noqa: S603, S607 ours
    fleet_on.check_out()
    (fleet_on.workspace / "link").symlink_to(elsewhere / "clusters")
    failed(fleet_on.run({"path": "link"}, is_checked_out=True), UsageError, "outside of the workspace")


# Modes and events


@pytest.mark.parametrize("inputs", [{"mode": "plan"}, {"dry-run": "true"}, {"mode": "plan", "dry-run": "true"}])
@pytest.mark.parametrize("event", ["schedule", "pull_request"])
def test_who_only_looks_writes_nothing(fleet_on: Fleet, inputs: Mapping[str, str], event: str) -> None:
    done = fleet_on.run(inputs, event=event)
    assert (done.exit_code, done.outputs["outcome"]) == (0, "held")
    assert f"clusters/staging · minor: would be opened · {MINOR}" in done.log
    assert (fleet_on.written(), fleet_on.opened()) == ([], {})
    assert done.outputs["pull-requests"] == "[]"


def test_a_pull_request_is_no_event_to_open_others_for(fleet_on: Fleet) -> None:
    failed(fleet_on.run(event="pull_request"), UsageError, "opens no pull requests")
    assert fleet_on.hub.calls == []


@pytest.mark.parametrize(
    ("inputs", "opened"),
    [
        ({}, {PATCH: False, MINOR: True}),
        ({"policy": "minor"}, {MINOR: False}),
        ({"policy": "none"}, {PATCH: True, MINOR: True}),
        ({"range": "~2.8"}, {PATCH: False}),
        ({"range": "2.x"}, {MINOR: False}),
        ({"approve": "2.9"}, {PATCH: False, MINOR: False}),
        ({"approve": "v2.9.3", "policy": "none"}, {PATCH: True, MINOR: False}),
        ({"config": "other.yaml"}, {PATCH: True, MINOR: True}),
        ({"config": "other.yaml", "policy": "minor"}, {MINOR: False}),
        ({"path": "clusters/staging"}, {PATCH: False, MINOR: True}),
        ({"path": STAGING}, {PATCH: False, MINOR: True}),
    ],
    ids=lambda each: "-".join(f"{key}-{value}" for key, value in each.items()).replace("/", "."),
)
def test_inputs_are_obeyed(tmp_path: Path, inputs: Mapping[str, str], opened: Mapping[str, bool]) -> None:
    files = {**fleet({"clusters/staging": "v2.8.7"}), "other.yaml": b"policy: none\n"}
    with Fleet(tmp_path, files) as on:
        done = on.run({**inputs, "dry-run": "true"})
        assert done.exit_code == 0, done.log
        assert on.would_open(done) == opened


def test_flags_that_are_asked_for_are_in_the_commit(fleet_on: Fleet) -> None:
    done = fleet_on.run({"flags": "network-policy=false", "policy": "none", "range": "~2.8"})
    assert (done.exit_code, fleet_on.opened()) == (0, {PATCH: False})
    changed = git("--git-dir", str(fleet_on.repository.git), "diff", f"main..{PATCH}")
    assert "-kind: NetworkPolicy" in changed
    assert "Change Flux's install flags" in fleet_on.repository.pulls[1].title


def test_pull_requests_may_go_into_another_branch(fleet_on: Fleet) -> None:
    fleet_on.repository.people.push("release", {"README.md": b"Release\n"})
    done = fleet_on.run({"base": "release"})
    assert done.exit_code == 0, done.log
    assert [each.base for each in fleet_on.repository.pulls.values()] == ["release"]


def test_a_checkout_may_be_below_the_workspace(fleet_on: Fleet) -> None:
    fleet_on.check_out("fleet")
    done = fleet_on.run({"path": "fleet", "mode": "plan"}, is_checked_out=True)
    assert done.exit_code == 0, done.log
    assert fleet_on.would_open(done) == {MINOR: True}


# Red and green


def test_what_is_held_ends_green(tmp_path: Path) -> None:
    files = fleet({"clusters/a": "v2.9.4", "old": "v2.8.7"}, orphans=["old"])
    with Fleet(tmp_path, files) as on:
        done = on.run()
        assert (done.exit_code, done.outputs["outcome"], done.annotations) == (0, "held", ())
        assert "held: **orphan**" in done.summary


def test_what_fails_ends_red_after_all_else_was_done(tmp_path: Path) -> None:
    with Fleet(tmp_path, _everything()) as on:
        done = on.run()
        require_error(EditConflict, done.exit_code, done.log)
        assert done.outputs["outcome"] == "failed"
        assert on.opened() == {"flux-upgrade/clusters.a/minor": True}
        (annotation,) = done.annotations
        assert annotation.message.startswith(f"{path_in('clusters/b')}: v2.9.4 changes or removes")
        assert [each["slug"] for each in json.loads(done.outputs["report"])["failures"]] == ["edit-conflict"]
        # Again, all but the failure is as it should be.
        again = on.run()
        require_error(EditConflict, again.exit_code, again.log)
        assert (again.outputs["outcome"], on.written()) == ("failed", [])


def test_what_has_no_room_in_annotations_stands_in_the_summary(tmp_path: Path) -> None:
    files = fleet(dict.fromkeys((f"clusters/{at:02}" for at in range(13)), "v2.8.8"))
    files |= {path: _edited("v2.8.8") for path in files if path.endswith("components.yaml")}
    with Fleet(tmp_path, files) as on:
        done = on.run()
        assert [each.level for each in done.annotations] == ["error"] * 10
        # On top of the summary: those that GitHub would not show.
        assert done.summary.partition("## Flux")[0].count("\n\n") == 3
        assert f"> {path_in('clusters/12')}: v2.9.4 changes" in done.summary


def test_a_checkout_that_is_behind_the_base_is_red_where_it_matters(tmp_path: Path) -> None:
    with Fleet(tmp_path, fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"})) as on:
        on.check_out()
        on.repository.people.push("", {path_in("clusters/a"): manifest("v2.9.3")})
        done = on.run(is_checked_out=True)
        require_error(CheckoutDiffers, done.exit_code, done.log)
        assert done.outputs["outcome"] == "failed"
        assert on.opened() == {"flux-upgrade/clusters.b/minor": True}


def test_a_setting_of_the_repository_is_named(fleet_on: Fleet) -> None:
    fleet_on.repository.settings.actions_may_open = False
    done = fleet_on.run()
    require_error(ForbiddenByForge, done.exit_code, done.log)
    assert done.outputs["outcome"] == "failed"
    assert {each.level for each in done.annotations} == {"error"}
    assert "Allow GitHub Actions to create and approve pull requests" in done.annotations[0].message


@pytest.mark.parametrize("lacking", ["contents", "pull-requests"])
def test_a_permission_is_named(fleet_on: Fleet, lacking: str) -> None:
    fleet_on.token = fleet_on.hub.token("actions", {**PERMISSIONS, lacking: "read"})
    done = fleet_on.run()
    require_error(ForbiddenByForge, done.exit_code, done.log)
    assert "permissions:" in done.annotations[0].message
    assert f"{lacking}: write" in done.annotations[0].message
    assert fleet_on.token.value not in everything(done)


# The world around


def test_every_token_is_masked_before_anything_else_is_said(fleet_on: Fleet) -> None:
    other = fleet_on.hub.token("classic", scopes=("repo",))
    done = fleet_on.run({"release-token": other.value, "mode": "plan"})
    assert done.masked == (fleet_on.token.value, other.value)
    assert done.log.splitlines()[:2] == [f"::add-mask::{each}" for each in done.masked]
    assert done.exit_code == 0
    for secret in done.masked:
        assert secret not in everything(done)


def test_a_token_in_another_input_is_shown_nowhere(fleet_on: Fleet) -> None:
    secret = fleet_on.token.value
    fleet_on.repository.people.push(secret, {"README.md": b"Release\n"})
    done = fleet_on.run({"base": secret, "mode": "plan"})
    assert done.exit_code == 0, done.log
    assert report(done)["base"] == "***"
    assert secret not in everything(done)

    done = fleet_on.run({"base": f"{secret}_", "mode": "plan"})
    require_error(RepositoryUnfit, done.exit_code, done.log)
    assert "has no branch ***_" in done.summary.replace("\\", "")
    assert secret not in everything(done).replace("\\", "")


@pytest.mark.parametrize(
    "folder", ["::error::pwned", "a\n::error::pwned", "a\n::stop-commands::x", "a|b`c", "<img src=x>", "é\u202e"]
)
def test_names_of_anybody_give_no_commands(tmp_path: Path, folder: str) -> None:
    with Fleet(tmp_path, fleet({folder: "v2.8.7"})) as on:
        done = on.run({"mode": "plan"})
        assert (done.exit_code, done.annotations) == (0, ())
        found = [line for line in done.summary.splitlines() if line.startswith("| `")]
        assert [row.count(" | ") for row in found] == [4, 4]
        assert json.loads(done.outputs["report"])["installations"][0]["path"] == path_in(folder)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    folder = b"caf\xe9".decode(errors="surrogateescape")
    with Fleet(tmp_path) as on:
        on.check_out()
        system = on.workspace / folder / "flux-system"
        system.mkdir(parents=True)
        (system / "gotk-components.yaml").write_bytes(manifest("v2.9.4"))
        done = on.run({"mode": "plan"}, is_checked_out=True)
        assert (done.exit_code, done.outputs["outcome"]) == (0, "held")


@pytest.mark.parametrize("value", ["", "/no/such/folder"])
def test_a_runner_without_a_temporary_folder_has_no_report_file(fleet_on: Fleet, value: str) -> None:
    done = fleet_on.run({"mode": "plan"}, env={"RUNNER_TEMP": value})
    assert (done.exit_code, done.outputs["outcome"]) == (0, "held")
    assert "report-file" not in done.outputs
    assert not Path(f"/{REPORT_FILE}").exists()


def test_the_runners_files_are_added_to(fleet_on: Fleet) -> None:
    done = fleet_on.run({"mode": "plan"}, env={"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""})
    assert (done.exit_code, done.outputs, done.summary) == (0, {}, "")


@WHERE
@pytest.mark.parametrize("is_given", [True, False])
def test_a_server_with_its_own_authority(
    where: str, request: pytest.FixtureRequest, tmp_path: Path, *, is_given: bool
) -> None:
    context, certificate = _authority(tmp_path)
    with Fleet(tmp_path / "fleet", image=image_of(where, request), tls=context) as on:
        (tmp_path / "fleet").mkdir(exist_ok=True)
        (on.check_out() / "ca.pem").write_bytes(certificate)
        done = on.run({"ca-file": "ca.pem"} if is_given else {}, is_checked_out=True)
        if not is_given:
            failed(done, SourceUnavailable, "certificate")
            assert "ca-file" in done.annotations[0].message
            return
        assert done.exit_code == 0, done.log
        assert on.opened() == {MINOR: True}
        # It is no github.com: the token of the job is not for Flux's releases.
        assert done.masked == (on.token.value,)


def _authority(folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """A certificate for loopback that only itself vouches for."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
    ]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([require_program("openssl"), *command, *files], check=True, capture_output=True)  # noqa: S603 openssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate.read_bytes()
