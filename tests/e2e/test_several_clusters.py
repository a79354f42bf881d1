"""A run for several clusters: the pull request of a group of which one cluster is held, and the job summary.

``docs/picture.py`` draws both texts.
"""

from __future__ import annotations

from pathlib import Path

from convergence.fleet import fleet_at, git
from e2e.fleet import plain
from error_names import require_error
from flows import fleet, path_in
from flux_upgrade.model.errors import EditConflict
from written_proposals import edited

TEXTS = Path(__file__).parent / "several_clusters"
CLUSTERS = {
    "clusters/production-asia": "v2.8.8",
    "clusters/production-eu": "v2.8.8",
    "clusters/production-us": "v2.8.8",
    "clusters/edge": "v2.9.4",
    "clusters/staging": "v2.9.3",
}
EDITS = {
    "clusters/production-asia": ("cpu: 1000m", "cpu: 1500m", "helm-controller"),  # which v2.9.4 changes, too
    "clusters/production-us": ("replicas: 1", "replicas: 2", "kustomize-controller"),
}
CONFIG = """\
groups:
  production:
    paths: ["clusters/production-*/**"]
"""
GROUP = "flux-upgrade/production/minor"


def files() -> dict[str, bytes]:
    """The repository, with its edits."""
    found = fleet(CLUSTERS)
    for folder, edit in EDITS.items():
        path = path_in(folder)
        found[path] = edited(found[path].decode(), *edit).encode()
    return found


def test_the_others_of_a_group_are_upgraded(tmp_path: Path, *, update_golden: bool) -> None:
    with fleet_at(tmp_path, files(), CONFIG) as on:
        on.hub.clock.set("2026-08-20T06:00:00Z")
        git("clone", "--quiet", f"file://{on.repository.git}", str(tmp_path / "checkout"))  # with its history
        ran = on.run(checkout=tmp_path / "checkout")
        require_error(EditConflict, ran.code, ran.log + ran.err)
        assert ran.outcome == "failed"
        (pull,) = (each for each in on.repository.pulls.values() if each.head == GROUP)
        assert pull.is_draft
        texts = {"pull_request.md": f"<!-- {pull.title} -->\n{pull.body}", "summary.md": ran.summary}
    for name, text in texts.items():
        path = TEXTS / name
        if update_golden:
            path.parent.mkdir(exist_ok=True)
            path.write_text(plain(text), encoding="utf-8")
        assert plain(text) == path.read_text(encoding="utf-8"), name
