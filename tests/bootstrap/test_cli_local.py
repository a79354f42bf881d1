"""``flux-upgrade bootstrap`` in a checkout writes Flux's files, keeps what is there, and neither commits nor pushes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from adapters.test_files import an_ordinary_user, open_folder
from bootstrap.cli_runs import COMPONENTS, FILES, FOLDER, GITHUB, LISTING, SYNC, Laptop, clone_with, files_of
from config_files import load
from flux_upgrade.model.errors import AlreadyBootstrapped, Downgrade, ReleaseNotFound, UsageError, WriteFailed
from git_servers import git

__all__ = ["open_folder"]
PATH = "--path=clusters/staging"


REMOTES = {
    "git@github.com:octo/fleet.git": ("ssh://git@github.com/octo/fleet", "github"),
    GITHUB: ("ssh://git@github.com/octo/fleet", "github"),
    "ssh://git@ssh.github.com:443/octo/fleet.git": ("ssh://git@github.com/octo/fleet", "github"),
    "git@gitlab.com:octo/infra/fleet.git": ("ssh://git@gitlab.com/octo/infra/fleet", "gitlab"),
    "https://gitlab.example.com/octo/fleet.git": ("ssh://git@gitlab.example.com/octo/fleet", "gitlab"),
    "ssh://git@altssh.gitlab.com:443/octo/fleet.git": ("ssh://git@gitlab.com/octo/fleet", "gitlab"),
    "https://gitea.example.com:3000/octo/fleet": ("ssh://git@gitea.example.com/octo/fleet", "gitea"),
    "ssh://git@gitea.example.com:2222/octo/fleet": ("ssh://git@gitea.example.com:2222/octo/fleet", "gitea"),
    "https://codeberg.org/octo/fleet.git": ("ssh://git@codeberg.org/octo/fleet", "gitea"),
    "ssh://git@git.example.com:2222/fleet.git": ("ssh://git@git.example.com:2222/fleet.git", "git"),
    "https://git.example.com:8443/fleet.git": ("ssh://git@git.example.com/fleet.git", "git"),
    "git@git.example.com:octo/fleet.git": ("ssh://git@git.example.com/octo/fleet.git", "git"),
    "https://ann:sesame-77@git.example.com/fleet.git": ("ssh://git@git.example.com/fleet.git", "git"),
    "https://git.example.com/fleet.git": ("ssh://git@git.example.com/fleet.git", "git"),
}


@pytest.mark.parametrize("remote", REMOTES)
def test_the_remote_tells_what_is_not_said(laptop: Laptop, tmp_path: Path, remote: str) -> None:
    url, provider = REMOTES[remote]
    checkout = clone_with(tmp_path / "fleet", remote)
    done = laptop.bootstrap(checkout, PATH).well()
    assert sorted(files_of(checkout)) == ["README.md", *FILES]
    assert f"url: {url}\n" in (checkout / SYNC).read_text()
    assert f"--provider={provider}" in done.out
    assert done.err == ""
    assert "sesame" not in done.out + str(files_of(checkout))


@pytest.mark.parametrize(
    ("remote", "url"),
    {
        "git@git.example.com:octo/infra/fleet.git": "https://git.example.com/octo/infra/fleet.git",
        "https://gitea.example.com:3000/octo/fleet": "https://gitea.example.com:3000/octo/fleet.git",
        "http://gitea.example.com:3000/octo/fleet": "http://gitea.example.com:3000/octo/fleet.git",
        "ssh://git@gitea.example.com:2222/octo/fleet": "https://gitea.example.com/octo/fleet.git",
    }.items(),
)
def test_a_host_whose_name_says_nothing(laptop: Laptop, tmp_path: Path, remote: str, url: str) -> None:
    checkout = clone_with(tmp_path / "fleet", remote)
    laptop.bootstrap(checkout, PATH, "--provider=gitea", "--token-auth").well()
    assert f"url: {url}\n" in (checkout / SYNC).read_text()


def test_another_host_than_that_of_the_remote(laptop: Laptop, tmp_path: Path) -> None:
    checkout = clone_with(tmp_path / "fleet", "ssh://git@gitea.example.com:2222/octo/fleet")
    laptop.bootstrap(checkout, PATH, "--hostname=gitea.example.org", "--repository=octo/fleet").well()
    assert "url: ssh://git@gitea.example.org/octo/fleet\n" in (checkout / SYNC).read_text()


NO_PLACE = {
    "no-remote": ("", "--owner is missing; --repository is missing"),
    "a-folder": ("/srv/git/fleet.git", "--owner is missing; --repository is missing"),
    "http": ("http://git.example.com/fleet.git", "--allow-insecure-http"),
    "http-and-a-password": ("http://ann:sesame-77@git.example.com/fleet.git", "remote origin"),
}


@pytest.mark.parametrize("case", NO_PLACE)
def test_a_remote_that_gives_no_address_is_refused(laptop: Laptop, tmp_path: Path, case: str) -> None:
    remote, message = NO_PLACE[case]
    checkout = clone_with(tmp_path / "fleet", remote)
    done = laptop.bootstrap(checkout, PATH).refused(UsageError, message)
    assert "sesame" not in done.err
    assert list(files_of(checkout)) == ["README.md"]


def test_a_folder_without_git(laptop: Laptop, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    laptop.bootstrap(folder, PATH).refused(UsageError, "--owner is missing; --repository is missing")
    laptop.bootstrap(folder, PATH, "--owner=octo", "--repository=fleet").well()
    assert sorted(files_of(folder)) == FILES
    again = laptop.bootstrap(folder, PATH, "--repository=octo/fleet", "--json").well()
    assert again.value["outcome"] == "none"


def test_the_checkout_that_one_is_in(laptop: Laptop, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "deep" / "inside").mkdir(parents=True)
    monkeypatch.chdir(checkout / "deep" / "inside")
    laptop.bootstrap(PATH).well()
    assert sorted(files_of(checkout)) == ["README.md", *FILES]


def test_there_is_no_such_checkout(laptop: Laptop, tmp_path: Path) -> None:
    laptop.bootstrap(tmp_path / "nowhere", PATH, "--repository=octo/fleet").refused(UsageError, "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_again_nothing(laptop: Laptop, checkout: Path) -> None:
    first = laptop.bootstrap(checkout, PATH, "--json").well()
    assert first.value["outcome"] == "updated"
    assert first.cluster["files"] == [{"path": path, "action": "add"} for path in FILES]
    before = {path: (checkout / path).stat().st_mtime_ns for path in FILES}
    again = laptop.bootstrap(checkout, PATH, "--json").well()
    assert (again.value["outcome"], again.cluster["files"]) == ("none", [])
    assert again.cluster["kept"] == FILES
    assert {path: (checkout / path).stat().st_mtime_ns for path in FILES} == before
    assert "up to date" in laptop.bootstrap(checkout, PATH).well().out


def test_nothing_is_committed_and_the_index_is_as_it_was(laptop: Laptop, checkout: Path) -> None:
    head = git("rev-parse", "HEAD", at=checkout)
    laptop.bootstrap(checkout, PATH).well()
    assert git("rev-parse", "HEAD", at=checkout) == head
    assert git("status", "--porcelain", at=checkout) == "?? clusters/"


def test_other_flags_are_shown_and_changed(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout, PATH).well()
    before = files_of(checkout)
    other = ("--interval=5m", "--components-extra=image-reflector-controller", "--network-policy=false")
    dry = laptop.bootstrap(checkout, PATH, *other, "--dry-run", "--json").well()
    assert files_of(checkout) == before
    done = laptop.bootstrap(checkout, PATH, *other, "--json").well()
    differences = {each["flag"]: (each["old"], each["new"]) for each in done.cluster["differences"]}
    assert dry.cluster["differences"] == done.cluster["differences"]
    assert differences["interval"] == ("1m0s", "5m0s")
    assert differences["network-policy"] == ("true", "false")
    assert differences.keys() >= {"interval", "network-policy"} and any("components" in flag for flag in differences)
    assert {each["path"] for each in done.cluster["files"]} == {COMPONENTS, SYNC}
    after = files_of(checkout)
    assert b"NetworkPolicy" not in after[COMPONENTS] and b"image-reflector" in after[COMPONENTS]
    assert b"interval: 5m0s" in after[SYNC]
    shown = laptop.bootstrap(checkout, PATH, "--interval=7m").well().out
    assert "  --interval: 5m0s → 7m0s\n" in shown


def test_a_dry_run_writes_nothing(laptop: Laptop, checkout: Path) -> None:
    done = laptop.bootstrap(checkout, PATH, "--dry-run", "--json").well()
    assert done.value["outcome"] == "held"
    assert done.value["dry-run"] is True
    assert [each["path"] for each in done.cluster["files"]] == FILES
    assert list(files_of(checkout)) == ["README.md"]
    assert not (checkout / "clusters").exists()


def test_a_version_that_is_there_stays(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout, PATH, "--version=v2.8.7").well()
    assert laptop.bootstrap(checkout, PATH, "--json").well().cluster["version"] == "v2.8.7"
    laptop.bootstrap(checkout, PATH, "--version=v2.6.4").refused(Downgrade, "v2.6.4")
    done = laptop.bootstrap(checkout, PATH, "--version=v2.9.4", "--json").well()
    assert done.cluster["differences"] == [{"flag": "version", "old": "v2.8.7", "new": "v2.9.4"}]


def test_a_version_that_does_not_exist(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout, PATH, "--version=v2.9.99").refused(ReleaseNotFound, "v2.9.99")
    assert list(files_of(checkout)) == ["README.md"]


def test_a_file_that_cannot_be_made_leaves_nothing_half_written(
    laptop: Laptop, open_folder: Path, tmp_path: Path
) -> None:
    """The second folder is closed to whoever writes: what went into the first is taken back."""
    checkout = clone_with(open_folder / "fleet", GITHUB)
    (checkout / "clusters" / "production").mkdir(parents=True)
    config = tmp_path / "config.yaml"
    config.write_text(
        "bootstrap:\n  clusters:\n    staging: {path: clusters/staging}\n    production: {path: clusters/production}\n"
    )
    source = open_folder / "releases"
    shutil.copytree(laptop.source, source)
    source.chmod(0o755)
    asked = (checkout, f"--config={shutil.copy(config, open_folder)}")
    for path in (checkout, checkout / "clusters"):
        path.chmod(0o777)
    (checkout / "clusters" / "production").chmod(0o555)
    if os.geteuid() == 0:  # else Git takes it for another user's
        for path in (checkout, checkout / ".git", *(checkout / ".git").rglob("*")):
            os.chown(path, 65534, 65534)
    before = sorted(str(path) for path in checkout.rglob("*"))
    load("", "x.yaml")  # for an ordinary user who cannot read this interpreter's modules
    with an_ordinary_user():
        done = Laptop(source, {"HOME": str(open_folder)}).bootstrap(*asked)
    done.refused(WriteFailed, "clusters/production", "could not be created")
    assert sorted(str(path) for path in checkout.rglob("*")) == before


@pytest.mark.parametrize("where", ["clusters", "clusters/staging", FOLDER])
def test_links_out_of_the_checkout_are_not_written_through(
    laptop: Laptop, checkout: Path, tmp_path: Path, where: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (checkout / where).parent.mkdir(parents=True, exist_ok=True)
    (checkout / where).symlink_to(outside)
    laptop.bootstrap(checkout, PATH).refused(WriteFailed, "leads out of the directory")
    assert not list(outside.rglob("*"))


@pytest.mark.parametrize("name", ["gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml"])
def test_a_file_that_is_a_link_is_not_replaced(laptop: Laptop, checkout: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text("mine\n")
    (checkout / FOLDER).mkdir(parents=True)
    (checkout / FOLDER / name).symlink_to(outside)
    laptop.bootstrap(checkout, PATH).refused(WriteFailed)
    assert outside.read_text() == "mine\n"
    assert [path.name for path in (checkout / FOLDER).iterdir()] == [name]


LISTINGS = {
    "patched": "# ours\nresources: [gotk-components.yaml, gotk-sync.yaml]\npatches: []\n",
    "empty": "",
    "crlf": "resources:\r\n- gotk-components.yaml\r\n- gotk-sync.yaml\r\n",
}


@pytest.mark.parametrize("case", LISTINGS)
def test_a_kustomization_that_is_there_is_kept(laptop: Laptop, checkout: Path, case: str) -> None:
    (checkout / FOLDER).mkdir(parents=True)
    (checkout / LISTING).write_bytes(LISTINGS[case].encode())
    for _ in range(2):
        done = laptop.bootstrap(checkout, PATH, "--json").well()
        assert LISTING in done.cluster["kept"]
        assert (checkout / LISTING).read_bytes() == LISTINGS[case].encode()


def test_an_edit_by_hand_is_kept(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout, PATH, "--version=v2.9.4").well()
    plain = (checkout / COMPONENTS).read_text()
    edited = plain.replace("memory: 1Gi", "memory: 3Gi", 1)
    assert edited != plain
    (checkout / COMPONENTS).write_text(edited)
    assert laptop.bootstrap(checkout, PATH, "--json").well().value["outcome"] == "none"
    assert (checkout / COMPONENTS).read_text() == edited
    done = laptop.bootstrap(checkout, PATH, "--log-level=debug", "--json").well()
    assert any("memory" in edit for edit in done.cluster["edits"])
    after = (checkout / COMPONENTS).read_text()
    assert after.count("memory: 3Gi") == 1 and "--log-level=debug" in after


def test_what_is_no_manifest_of_flux_is_refused(laptop: Laptop, checkout: Path) -> None:
    (checkout / FOLDER).mkdir(parents=True)
    (checkout / COMPONENTS).write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n")
    done = laptop.bootstrap(checkout, PATH)
    assert done.code not in (0, 1), done.err
    assert [path.name for path in (checkout / FOLDER).iterdir()] == ["gotk-components.yaml"]


def test_another_flux_at_the_same_path_is_refused(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout, PATH).well()
    laptop.bootstrap(checkout, PATH, "--namespace=flux-two").refused(AlreadyBootstrapped, SYNC)
    assert not (checkout / "clusters" / "staging" / "flux-two").exists()


def test_the_other_commands_go_on_from_there(laptop: Laptop, checkout: Path) -> None:
    """The next run of an upgrade needs no configuration."""
    flags = (PATH, "--components-extra=image-reflector-controller")
    laptop.bootstrap(checkout, *flags, "--version=v2.8.7").well()
    source = f"--release-source={laptop.source}"
    before = files_of(checkout)
    assert "v2.8.7" in laptop.run("inspect", checkout, source).well().out
    assert "v2.8.8" in laptop.run("plan", checkout, source).well().out
    assert files_of(checkout) == before
    laptop.run("upgrade", checkout, source, "--to=v2.9.4").well()
    assert {path for path, content in files_of(checkout).items() if before[path] != content} == {COMPONENTS}
    again = laptop.bootstrap(checkout, *flags, "--json").well()
    assert (again.value["outcome"], again.cluster["version"]) == ("none", "v2.9.4")
