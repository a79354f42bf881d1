"""On a real registry, an artifact is rebased, pushed, promoted and rolled back, and nothing else in it changes."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.faulty_registry import Fault, FaultyRegistry
from adapters.registries import PASSWORD, USERNAME, push, push_manifest
from error_names import require_error
from flows import manifest
from flux_upgrade.model.errors import (
    ForbiddenByRegistry,
    NothingFound,
    NoWayBack,
    Overtaken,
    StoredVersionLost,
    UntrustedArchive,
    UsageError,
)
from memory_registry import FILE, digest_of, tar_of
from promotion.program import Seen, Site, entries, listed_by_skopeo, skopeo
from promotion.protected import Protected, registry_with_tokens


@pytest.fixture
def site(registry_url: str, written_source: Path, request: pytest.FixtureRequest) -> Site:
    """A repository of its own for each test, with Flux v2.8.7 as its user pushed it."""
    name = request.node.name.partition("[")[0].removeprefix("test_").replace("_", "-")
    made = Site(registry_url, written_source, f"org/{name}")
    made.push("v2.8.7")
    return made


@pytest.fixture
def seen(site: Site) -> Seen:
    return Seen(site.url, site.path)


def test_everything_but_one_file_is_identical(site: Site, seen: Seen) -> None:
    before = entries(seen.layer())

    ran = site.run("upgrade")

    assert ran.exit_code == 0, ran.err
    after = entries(seen.layer())
    assert [each[0] for each in after] == [each[0] for each in before]
    (changed,) = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed[0][:-1] == changed[1][:-1]
    assert (changed[0][0], changed[1][-1]) == (FILE, manifest("v2.8.8"))


def test_media_types_annotations_and_tags_are_as_documented(site: Site, seen: Seen) -> None:
    before = seen.digest()
    site.run("upgrade")

    found = listed_by_skopeo(site)

    layer = seen.layer()
    assert found["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    assert found["config"]["mediaType"] == "application/vnd.cncf.flux.config.v1+json"
    assert [each["mediaType"] for each in found["layers"]] == ["application/vnd.cncf.flux.content.v1.tar+gzip"]
    assert found["annotations"] == {
        "flux-upgrade.previous": before,
        "flux-upgrade.version": "v2.8.8",
        "org.opencontainers.image.created": "2026-08-29T10:40:00Z",
        "org.opencontainers.image.revision": "v2.8.8",
        "org.opencontainers.image.source": "https://github.com/fluxcd/flux2",
    }
    name = f"v2.8.8-{digest_of(layer).removeprefix('sha256:')[:12]}"
    tags = seen.tags()
    assert tags[name] == tags["production"] != before
    assert [tag for tag, digest in tags.items() if digest == before and tag.startswith("v2.8.7-")]


def test_skopeo_copies_what_was_pushed(site: Site, seen: Seen, tmp_path: Path) -> None:
    site.run("upgrade")

    address = site.address.replace("oci://", "docker://")
    skopeo("copy", "--src-tls-verify=false", address, f"dir:{tmp_path / 'copy'}")

    stored = json.loads((tmp_path / "copy" / "manifest.json").read_text())
    assert stored == seen.manifest()


def test_what_skopeo_put_there_is_taken_on(site: Site, seen: Seen) -> None:
    address = site.address.replace("oci://", "docker://")
    moved = address.replace("production", "staging")
    skopeo("copy", "--src-tls-verify=false", "--dest-tls-verify=false", address, moved)

    ran = Site(site.url, site.source, site.path).run("upgrade")

    assert ran.exit_code == 0, ran.err
    assert seen.version() == "v2.8.8"
    assert seen.version("staging") == "v2.8.7"


def test_a_second_run_pushes_nothing_and_says_so(site: Site, seen: Seen) -> None:
    site.run("upgrade")
    before = seen.tags()

    ran = site.run("upgrade")

    assert ran.exit_code == 0
    assert seen.tags() == before
    assert "pushed before, and not again: v2.9.4-" in ran.out
    assert "nothing to push" in ran.out
    assert "promoted" not in ran.out


def test_a_minor_that_loses_stored_versions_needs_an_approval_that_says_that_flux_migrate_ran(
    site: Site, seen: Seen
) -> None:
    site.run("upgrade")
    patched = seen.digest()

    held = site.run("upgrade", "--policy=minor")

    assert held.exit_code == 0, held.err
    assert "minor  held: migration-pending, see step 1\n" in held.out
    assert "Run `flux migrate` with the Flux CLI 2.8 in every cluster that follows the tag\n" in held.out
    command = re.search(r"\$ flux-upgrade upgrade \S+ .*--approve=(production=2\.9\+migrated)\n", held.out)
    assert command is not None
    assert seen.digest() == patched

    promoted = site.run("upgrade", "--policy=minor", f"--approve={command[1]}")
    assert promoted.exit_code == 0, promoted.err
    assert seen.version() == "v2.9.4"
    assert [tag for tag, digest in seen.tags().items() if tag.startswith("production.migrated-") and digest == patched]


def test_a_minor_waits_an_approval_promotes_it_and_a_rollback_returns(site: Site, seen: Seen) -> None:
    site.run("upgrade")
    waiting = next(tag for tag in seen.tags() if tag.startswith("v2.9.4-"))
    assert seen.version() == "v2.8.8"
    patched = seen.digest()

    approved = site.run("upgrade", "--approve=2.9+migrated")
    assert approved.exit_code == 0, approved.err
    assert seen.tags()["production"] == seen.tags()[waiting]

    back = site.run("rollback")
    assert back.exit_code == 0, back.err
    assert seen.digest() == patched
    assert seen.tags()["production.rejected-v2.9.4"] == seen.tags()[waiting]

    held = site.run("upgrade", "--policy=minor")
    assert "held: rolled-back, see step 1\n" in held.out
    assert ": v2.9.4 was rolled back" in held.out
    assert seen.digest() == patched

    again = site.run("upgrade", "--approve=production=v2.9.4+migrated")
    assert again.exit_code == 0
    assert seen.version() == "v2.9.4"


def test_a_rollback_without_a_way_back_says_where_to_go(site: Site, seen: Seen) -> None:
    before = seen.tags()

    ran = site.run("rollback")

    require_error(NoWayBack, ran.exit_code, ran.err)
    assert "--to" in ran.err
    assert seen.tags() == before


def test_a_rollback_to_crds_that_the_api_server_may_reject_needs_a_flag(site: Site, seen: Seen) -> None:
    older = {FILE: manifest("v2.8.7").replace(b"  - name: v1\n", b"  - name: v1beta9\n")}
    digest = push(site.url, site.path, "older", gzip.compress(tar_of(older), mtime=0))
    site.push("v2.8.8")
    before = seen.digest()

    for flags in ((), ("--dry-run",)):
        ran = site.run("rollback", "--to=older", *flags)
        require_error(StoredVersionLost, ran.exit_code, ran.err)
        assert "GitRepository v1" in ran.err
        assert seen.digest() == before
    ran = site.run("rollback", "--to=older", "--accept-breaks")

    assert ran.exit_code == 0, ran.err
    assert seen.digest() == digest


def test_a_tag_that_never_moves_is_not_moved(site: Site, seen: Seen) -> None:
    site.run("upgrade")
    before = seen.tags()
    kept = next(tag for tag in before if tag.startswith("v2.8.7-"))

    for command in ("upgrade", "plan", "rollback"):
        ran = Site(site.url, site.source, site.path, tag=kept).run(command)
        require_error(UsageError, ran.exit_code, ran.err)
        assert "follow" in ran.err

    assert seen.tags() == before


def test_a_dry_run_and_a_plan_write_nothing(site: Site, seen: Seen) -> None:
    before = seen.tags()

    for command in (("upgrade", "--dry-run"), ("plan",), ("plan", "--json")):
        ran = site.run(*command)
        assert ran.exit_code == 0, ran.err
    ran = site.run("rollback", "--dry-run", "--to=production")
    require_error(NoWayBack, ran.exit_code, ran.err)

    assert seen.tags() == before


def test_the_tree_says_that_signatures_are_verified(
    site: Site, seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "source.yaml").write_text(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\n"
        "metadata:\n  name: flux\n  namespace: flux-system\n"
        f"spec:\n  url: {site.address.removesuffix(':production')}\n"
        "  ref:\n    tag: production\n  verify:\n    provider: cosign\n"
    )
    monkeypatch.chdir(tmp_path)
    before = seen.digest()

    held = site.run("upgrade")
    assert held.exit_code == 0, held.err
    assert "needs-signature" in held.out
    assert seen.digest() == before
    (pushed,) = [tag for tag in seen.tags() if tag.startswith("v2.8.8-")]
    digest = seen.tags()[pushed]
    assert digest in held.out

    # What cosign leaves: an image whose tag is made of the digest that it signs.
    push_manifest(site.url, site.path, f"{digest.replace(':', '-')}.sig", seen.manifest())
    signed = site.run("upgrade")
    assert signed.exit_code == 0, signed.err
    assert seen.digest() == digest


def test_a_tag_that_moves_in_between_is_left_alone(site: Site, seen: Seen) -> None:
    site.push("v2.9.3", tag="theirs")
    theirs = seen.digest("theirs")
    with FaultyRegistry(site.url) as proxy:
        between = Site(proxy.url, site.source, site.path)
        move = Fault(first=lambda: push_manifest(site.url, site.path, "production", seen.manifest("theirs")))
        proxy.spoil("HEAD", "/manifests/production", move)

        ran = between.run("upgrade")

    require_error(Overtaken, ran.exit_code, ran.err)
    assert "another user or run moved" in ran.err
    assert seen.digest() == theirs


def test_promotion_of_a_patch_takes_at_most_twelve_requests_and_an_idle_run_three(site: Site, seen: Seen) -> None:
    with FaultyRegistry(site.url) as proxy:
        counted = Site(proxy.url, site.source, site.path)
        upgraded = counted.run("upgrade", "--range=2.8.x", "--policy=patch")
        first = list(proxy.asked)
        idle = counted.run("upgrade", "--range=2.8.x", "--policy=patch")
        second = proxy.asked[len(first) :]

    assert (upgraded.exit_code, idle.exit_code) == (0, 0)
    assert ("nothing to push" in upgraded.out, "nothing to push" in idle.out) == (False, True)
    assert seen.version() == "v2.8.8"
    assert len(first) <= 12, first
    assert len(second) <= 3, second


def test_a_password_on_stdin_opens_a_registry_and_is_shown_nowhere(site: Site, protected: Protected) -> None:
    there = protected.filled(site)

    refused = there.run("upgrade")
    wrong = there.run("upgrade", f"--username={USERNAME}", "--password-stdin", stdin="wrong-horse\n")
    right = there.run("upgrade", f"--username={USERNAME}", "--password-stdin", stdin=f"{PASSWORD}\n")

    for ran in (refused, wrong):
        require_error(ForbiddenByRegistry, ran.exit_code, ran.err)
    assert right.exit_code == 0, right.err
    assert "promoted: production" in right.out
    for ran in (refused, wrong, right):
        assert PASSWORD not in ran.out + ran.err
        assert "wrong-horse" not in ran.out + ran.err


def test_tokens_of_a_token_service_are_got_for_what_is_done_and_shown_nowhere(site: Site, tmp_path: Path) -> None:
    with registry_with_tokens(tmp_path) as (registry, service):
        there = registry.filled(site)
        config = tmp_path / "config.json"
        auths = {registry.url.partition("://")[2]: {"username": USERNAME, "password": PASSWORD}}
        config.write_text(json.dumps({"auths": auths}))

        ran = there.run("upgrade", f"--docker-config={config}")

    assert ran.exit_code == 0, ran.err
    assert any(":pull,push" in scope or ":push,pull" in scope for _, _, scope in service.seen)
    for secret in (PASSWORD, *service.given):
        assert secret not in ran.out + ran.err


def test_what_may_only_pull_is_refused_before_anything_moved(site: Site, tmp_path: Path) -> None:
    with registry_with_tokens(tmp_path) as (registry, service):
        there = registry.filled(site)
        service.actions[USERNAME] = {"pull"}

        ran = there.run("upgrade", f"--username={USERNAME}", "--password-stdin", stdin=f"{PASSWORD}\n")

    require_error(ForbiddenByRegistry, ran.exit_code, ran.err)
    assert "push" in ran.err
    assert "promoted" not in ran.out


def test_an_artifact_that_was_tampered_with_is_refused(site: Site, seen: Seen) -> None:
    before = seen.tags()
    with FaultyRegistry(site.url) as proxy:
        proxy.spoil("GET", "/blobs/", Fault(tampered=True), times=-1)

        ran = Site(proxy.url, site.source, site.path).run("upgrade")

    require_error(UntrustedArchive, ran.exit_code, ran.err)
    assert seen.tags() == before


def test_an_artifact_that_is_not_there_is_said(site: Site) -> None:
    ran = Site(site.url, site.source, "org/nothing").run("upgrade")

    require_error(NothingFound, ran.exit_code, ran.err)
    assert "the artifact " in ran.err


def test_inspect_says_what_is_in_it(site: Site) -> None:
    ran = site.run("inspect")

    assert ran.exit_code == 0, ran.err
    assert f"{site.address}/{FILE}" in ran.out
    assert "Flux v2.8.7 · exact" in ran.out


def test_the_layer_is_the_same_whatever_umask_and_time_zone(site: Site, seen: Seen, tmp_path: Path) -> None:
    site.run("upgrade")
    first = next(tag for tag in seen.tags() if tag.startswith("v2.8.8-"))
    again = Site(site.url, site.source, f"{site.path}-again")
    again.push("v2.8.7")
    script = (
        "import os, sys; os.umask(0o077); from flux_upgrade import main; "
        "sys.exit(main.run(sys.argv[1:], {}, sys.stdout.buffer, sys.stderr))"
    )
    argv = ["upgrade", again.address, "--plain-http", f"--release-source={site.source}"]
    done = subprocess.run(  # noqa: S603  (ours)
        [sys.executable, "-c", script, *argv],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7"},  # noqa: TID251  (the child's)
    )

    assert done.returncode == 0, done.stderr
    assert first in Seen(site.url, again.path).tags()


def test_a_plan_shows_rows_steps_and_what_the_registry_would_get(site: Site, seen: Seen) -> None:
    before = seen.tags()

    ran = site.run("plan")

    assert ran.exit_code == 0, ran.err
    again = f"flux-upgrade upgrade {site.address} --plain-http --release-source={site.source}"
    assert ran.out.startswith(f"{site.address}  v2.8.7 → v2.8.8  patch  ready\n")
    assert f"Step 1  Upgrade to v2.8.8\n        $ {again}\n" in ran.out
    assert re.search(
        r"\nThe registry would change:\n  push v2\.8\.8-\w+\n  push v2\.9\.4-\w+\n  move production to v2\.8\.8-\w+\n",
        ran.out,
    )
    assert f"\n1 artifact: 1 ready.\nNext:     {again}\nDetails:  flux-upgrade plan " in ran.out
    assert seen.tags() == before


def test_details_and_quiet_of_a_plan(site: Site) -> None:
    assert "    changes in the cluster: only images and version labels\n" in site.run("plan", "--details").out
    assert site.run("plan", "--quiet").out == ""
    assert site.run("upgrade", "--quiet", "--dry-run").out == ""
