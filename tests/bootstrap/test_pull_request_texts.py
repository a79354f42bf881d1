"""Branch, title, commit message and body of a bootstrap's pull request depend on its files alone, and fit the Git host."""

from __future__ import annotations

import json

import pytest

from bootstrap.proposed_bootstraps import bootstrap, cluster
from flux_upgrade.action.bootstrap_report import bootstrap_summary, bootstrap_value
from flux_upgrade.bootstrap import pull_request_text
from flux_upgrade.bootstrap.access import Access
from flux_upgrade.bootstrap.apply import BootstrapResult
from flux_upgrade.bootstrap.proposed import Bootstrap, Handover, PlaceKind, bootstrap_of, handover_of
from flux_upgrade.bootstrap.pull_request_text import body
from flux_upgrade.bootstrap.report_text import bootstrap_text
from flux_upgrade.model import markers
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.proposal import ProposalContext

AROUND = ProposalContext(())
STAGING = cluster(path="clusters/staging")
THERE = ("flux-system",)


def written(proposal: Bootstrap, around: ProposalContext = AROUND) -> str:
    return body(proposal, around, pull_request_text.state(proposal, around))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("clusters/staging", "flux-upgrade/clusters.staging/bootstrap"),
        ("", "flux-upgrade/root/bootstrap"),
        ("A b", "flux-upgrade/a-b-560e04/bootstrap"),
    ],
)
def test_the_branch_is_named_as_those_of_later_upgrades(path: str, expected: str) -> None:
    assert bootstrap_of([cluster(path=path)], "flux-upgrade/").branch == expected


def test_several_clusters_share_a_branch() -> None:
    several = bootstrap_of([STAGING, cluster(path="clusters/lab")], "deploy/")
    assert (several.slug, several.branch) == ("clusters", "deploy/clusters/bootstrap")
    assert [each.path for each in several.changes] == sorted(each.path for each in several.changes)


def test_a_file_that_stays_as_it_is_is_no_change() -> None:
    same = tuple(each._replace(before=each.after) for each in STAGING.changes)
    assert bootstrap(STAGING._replace(files=STAGING.files._replace(changes=same))).changes == ()


@pytest.mark.parametrize(
    ("handover", "place"),
    [
        (handover_of(Access("title")), PlaceKind.NOWHERE),
        (handover_of(Access("title", where="FLUX"), secret="FLUX"), PlaceKind.NOWHERE),
        (handover_of(Access("title", where="FLUX", at_place=THERE), secret="FLUX"), PlaceKind.ACTIONS),
        (handover_of(Access("title", where="/home/me/secret.yaml", at_place=THERE)), PlaceKind.FILE),
        (handover_of(Access("title", where="staging"), in_cluster=True), PlaceKind.CLUSTER),
    ],
)
def test_where_the_secret_is(handover: Handover, place: PlaceKind) -> None:
    assert handover.place is place
    assert "/home/me" not in repr(handover)


def test_a_second_run_that_finds_its_key_says_the_same() -> None:
    public = "ssh-ed25519 AAAA"
    known = Access("t", public, is_registered=True, where="FLUX", at_place=THERE, has_source=True)
    first = known._replace(is_new_key=True, registered=True, handed_over=THERE)
    texts = {written(bootstrap(STAGING._replace(handover=handover_of(each, secret="FLUX")))) for each in (first, known)}
    assert len(texts) == 1


def test_a_commit_that_is_pushed_straight_says_what_it_adds() -> None:
    assert pull_request_text.direct_message(bootstrap(STAGING)) == "Add Flux v2.9.4 manifests"
    flags = {"path": "a", "commit-message-appendix": "[ci skip]\n\nSee #1"}
    changing = cluster({"changed": ["gotk-sync.yaml"], "flags": flags})
    assert (
        pull_request_text.direct_message(bootstrap(changing)) == "Change Flux v2.9.4 manifests\n\n[ci skip]\n\nSee #1"
    )


def test_a_long_name_stands_below_the_subject() -> None:
    name = "a-very-long-name-of-a-cluster-that-nobody-can-read-in-one-line"
    message = pull_request_text.commit_message(bootstrap(STAGING._replace(name=name)), AROUND)
    assert message.startswith(f"Bootstrap Flux v2.9.4\n\nIn {name}.\n\n")


def test_the_appendix_does_not_take_the_trailers_place() -> None:
    flags = {"path": "a", "commit-message-appendix": "Flux-Upgrade-Plan: sha256:0"}
    forged = cluster({"flags": flags})
    message = pull_request_text.commit_message(bootstrap(forged), AROUND)
    assert markers.trailers(message)["Flux-Upgrade-Plan"] == pull_request_text.plan_digest(bootstrap(forged))


@pytest.mark.parametrize("limit", [65_536, 20_000, 6_000, 1_000])
def test_it_fits_whatever_the_forge_takes(limit: int) -> None:
    several = bootstrap(*(cluster(path=f"shoots/{number}") for number in range(30)))
    text = written(several, ProposalContext((), limit=limit))
    assert len(text) <= limit
    assert markers.state_of(text) == pull_request_text.state(several, AROUND)
    assert text.startswith("<!-- flux-upgrade {")


def test_the_plan_is_about_files_alone() -> None:
    known = Handover(PlaceKind.FILE, public_key="ssh-ed25519 AAAA")
    assert pull_request_text.plan_digest(bootstrap(STAGING)) == pull_request_text.plan_digest(
        bootstrap(STAGING._replace(handover=known))
    )
    other = tuple(each._replace(before=b"") for each in STAGING.changes)
    emptied = bootstrap(STAGING._replace(files=STAGING.files._replace(changes=other)))
    assert pull_request_text.plan_digest(bootstrap(STAGING)) != pull_request_text.plan_digest(emptied)


def test_what_is_secret_is_shown_nowhere() -> None:
    flags = {
        "path": "clusters/staging",
        "image-pull-secret": "regcred",
        "registry-creds": "robot:s3cr3t",
        "ca-file": "/home/me/ca.pem",
        "token-auth": True,
    }
    proposal = bootstrap(cluster({"flags": flags}))
    ran = BootstrapResult(proposal)
    texts = [
        written(proposal),
        pull_request_text.commit_message(proposal, AROUND),
        bootstrap_text(ran),
        bootstrap_summary(ran),
        json.dumps(bootstrap_value(ran)),
        repr(proposal),
        repr(ran),
    ]
    assert not any("s3cr3t" in text or "/home/me" in text for text in texts)


def test_the_state_is_read_by_whoever_closes_it() -> None:
    assert pull_request_text.state(bootstrap(STAGING), AROUND) == MarkerState(
        "clusters.staging",
        "bootstrap",
        Version("v2.9.4"),
        title=markers.digest_of("Bootstrap Flux v2.9.4 in clusters/staging"),
    )
