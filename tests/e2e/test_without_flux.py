"""The Action in a repository without Flux: green, with a notice and a report, because nothing is wrong with it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from e2e.fleet import Fleet
from flows import fleet, path_in
from flux_upgrade import main
from flux_upgrade.model.errors import NothingFound

SHOP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\n"
FILES = {"README.md": b"Shop\n", "apps/shop.yaml": SHOP}
NOTHING = {"outcome": "none", "current-version": "", "target-version": "", "pull-requests": "[]"}


@pytest.mark.parametrize("inputs", [{}, {"mode": "plan"}, {"dry-run": "true"}, {"approve": "2.9"}])
def test_it_is_green_and_says_so(tmp_path: Path, inputs: dict[str, str]) -> None:
    with Fleet(tmp_path, FILES) as on:
        done = on.run(inputs)
        assert done.exit_code == 0, done.log
        assert on.written() == []
    notices = [each.message for each in done.annotations if each.level == "notice"]
    assert [notice.partition("\n")[0] for notice in notices] == [
        "no Flux found in this repository, so there is nothing to upgrade"
    ]
    assert not [each for each in done.annotations if each.level == "error"]
    assert "No Flux found in this repository" in done.summary
    assert NOTHING.items() <= done.outputs.items()
    report = json.loads(done.outputs["report"])
    assert (report["outcome"], report["repository"], report["base"]) == ("none", "octo-org/fleet", "main")
    assert report["installations"] == report["pull-requests"] == report["failures"] == []


def test_pull_requests_stay_as_they_are(tmp_path: Path) -> None:
    with Fleet(tmp_path, fleet({"clusters/staging": "v2.8.7"})) as on:
        on.run()
        before = on.opened()
        assert before
        gone = dict.fromkeys((path_in("clusters/staging"), "clusters/staging/flux-system/kustomization.yaml"))
        on.repository.commit({**gone, "README.md": b"Shop\n"}, "Remove Flux")
        done = on.run()
        assert done.exit_code == 0, done.log
        assert on.opened() == before
        assert on.written() == []


@pytest.mark.parametrize("path", ["apps", "apps/shop.yaml"])
def test_a_path_without_flux_is_an_error(tmp_path: Path, path: str) -> None:
    with Fleet(tmp_path, FILES) as on:
        done = on.run({"path": path})
    assert done.exit_code == NothingFound.exit_code
    assert [each.level for each in done.annotations] == ["error"]


def test_a_file_that_cannot_be_read_may_have_flux(tmp_path: Path) -> None:
    with Fleet(tmp_path, FILES) as on:
        checkout = on.check_out()
        (checkout / "apps" / "large.yaml").write_bytes(b"#" * (64 << 20))
        done = on.run(is_checked_out=True)
    assert done.exit_code == NothingFound.exit_code


def test_a_sparse_checkout_may_lack_the_directory_with_flux(tmp_path: Path) -> None:
    with Fleet(tmp_path, FILES) as on:
        checkout = on.check_out()
        (checkout / ".git" / "info" / "sparse-checkout").write_text("/apps\n")
        done = on.run(is_checked_out=True)
    assert done.exit_code == NothingFound.exit_code


def test_it_is_an_error_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_bytes(SHOP)
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["upgrade", str(tmp_path)], {}, out, err)
    assert (code, "[nothing-found]" in err.getvalue()) == (NothingFound.exit_code, True)
