"""``flux-upgrade bootstrap --push`` and ``--pull-request`` work with real Git servers other than GitHub, and send them their own token only."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from bootstrap.cli_runs import COMPONENTS, FILES, SYNC, Done, Laptop, clone_with, files_of
from error_names import error_names, require_error
from flux_upgrade.model.errors import ForbiddenByForge, ForgeUnavailable, Overtaken, RepositoryUnfit, UsageError
from git_servers import READ, WRITE, Bare, HttpHost, SshHost, git

PATH = "--path=clusters/staging"
BRANCH = "flux-upgrade/clusters.staging/bootstrap"
TOKENS = {
    "gitlab": "GITLAB_TOKEN",
    "gitea": "GITEA_TOKEN",
    "git": "GIT_PASSWORD",
    "bitbucket-server": "BITBUCKET_TOKEN",
}
PROVIDERS = ("gitlab", "gitea", "git", "bitbucket-server")


@pytest.fixture
def bare(host: HttpHost) -> Bare:
    return Bare.make(host.root / "octo" / "fleet.git")


@pytest.fixture
def laptop(written_source: Path, tmp_path: Path) -> Laptop:
    return Laptop(written_source, {"HOME": str(tmp_path / "home")})


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    """Where nothing is to be written."""
    folder = tmp_path / "nowhere"
    folder.mkdir()
    return folder


def asked(provider: str, host: HttpHost) -> list[str]:
    if provider == "git":
        place = [f"--url={host.url}/octo/fleet.git", "--allow-insecure-http"]
    elif provider == "bitbucket-server":
        place = [f"--hostname={host.url}", "--owner=octo", "--repository=fleet"]
    else:
        place = [f"--hostname={host.url}", "--repository=octo/fleet"]
    return [f"--provider={provider}", *place, PATH]


def bare_of(provider: str, host: HttpHost) -> Bare:
    path = "scm/OCTO/fleet.git" if provider == "bitbucket-server" else "octo/fleet.git"
    (host.root / path).parent.mkdir(parents=True, exist_ok=True)
    return Bare.make(host.root / path)


def begun(bare: Bare, folder: Path) -> str:
    """With a first commit of somebody's."""
    clone_with(folder, str(bare.folder))
    git("push", "--quiet", "origin", "main", at=folder)
    return git("rev-parse", "HEAD", at=folder)


def listed(bare: Bare, what: str) -> list[str]:
    return sorted(git("ls-tree", "-r", "--name-only", what, at=bare.folder).splitlines())


def tokens_seen(host: HttpHost) -> set[str]:
    return {
        base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")[2] for _, header in host.seen if header
    }


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("how", ["--push", "--pull-request"])
def test_an_empty_repository_gets_its_first_commit(
    laptop: Laptop, host: HttpHost, nowhere: Path, provider: str, how: str
) -> None:
    bare = bare_of(provider, host)
    env = {TOKENS[provider]: WRITE}
    done = laptop.bootstrap(nowhere, *asked(provider, host), how, "--json", env=env).well()
    assert list(bare.refs()) == ["refs/heads/main"]
    assert done.value["commit"] == bare.refs()["refs/heads/main"]
    assert done.value["outcome"] == "updated"
    assert listed(bare, "main") == FILES
    assert git("log", "--format=%an|%P", at=bare.folder) == "Flux|"
    assert tokens_seen(host) == {WRITE}
    again = laptop.bootstrap(nowhere, *asked(provider, host), how, "--json", env=env).well()
    assert again.value["outcome"] == "none"
    assert bare.pushes() == 1
    assert not files_of(nowhere)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_push_to_the_branch(laptop: Laptop, host: HttpHost, nowhere: Path, tmp_path: Path, provider: str) -> None:
    bare = bare_of(provider, host)
    before = begun(bare, tmp_path / "ann")
    env = {TOKENS[provider]: WRITE}
    done = laptop.bootstrap(nowhere, *asked(provider, host), "--push", "--json", env=env).well()
    assert git("rev-parse", "main^", at=bare.folder) == before
    assert done.value["commit"] == git("rev-parse", "main", at=bare.folder)
    assert listed(bare, "main") == ["README.md", *FILES]
    changed = laptop.bootstrap(nowhere, *asked(provider, host), "--push", "--interval=5m", "--json", env=env).well()
    assert changed.cluster["differences"] == [{"flag": "interval", "old": "1m0s", "new": "5m0s"}]
    assert git("diff", "--name-only", "main^", "main", at=bare.folder) == SYNC
    assert not files_of(nowhere)


def test_a_merge_request_of_gitlab(laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path, tmp_path: Path) -> None:
    before = begun(bare, tmp_path / "ann")
    bare.answer("View merge request for it:", f"  {host.url}/octo/fleet/-/merge_requests/7")
    env = {"GITLAB_TOKEN": WRITE}
    done = laptop.bootstrap(nowhere, *asked("gitlab", host), "--pull-request", "--json", env=env).well()
    options = bare.options()
    assert "merge_request.create" in options
    assert "merge_request.target=main" in options
    assert any(option.startswith("merge_request.title=") and "Flux" in option for option in options)
    assert any(option.startswith("merge_request.description=") and "kubectl" in option for option in options)
    assert done.value["pull-request"]["branch"] == BRANCH
    assert done.value["pull-request"]["number"] == 7
    assert git("rev-parse", "main", at=bare.folder) == before
    assert listed(bare, BRANCH) == ["README.md", *FILES]
    pushed = bare.pushes()
    again = laptop.bootstrap(nowhere, *asked("gitlab", host), "--pull-request", "--json", env=env).well()
    assert again.value["outcome"] == "none"
    assert again.value["pull-request"]["action"] == "unchanged"
    assert bare.pushes() == pushed


def test_a_pull_request_of_gitea(laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path, tmp_path: Path) -> None:
    begun(bare, tmp_path / "ann")
    bare.take_agit()
    env = {"GITEA_TOKEN": WRITE}
    done = laptop.bootstrap(nowhere, *asked("gitea", host), "--pull-request", "--json", env=env).well()
    assert done.value["pull-request"]["action"] == "opened"
    assert any(option.startswith("topic=") for option in bare.options())
    assert any(option.startswith("title=") for option in bare.options())
    assert done.value["pull-request"]["branch"] == BRANCH
    assert listed(bare, "main") == ["README.md"]


@pytest.mark.parametrize("provider", ["git", "bitbucket-server"])
def test_a_branch_where_nothing_more_can_be_asked_for(
    laptop: Laptop, host: HttpHost, nowhere: Path, tmp_path: Path, provider: str
) -> None:
    bare = bare_of(provider, host)
    before = begun(bare, tmp_path / "ann")
    env = {TOKENS[provider]: WRITE}
    done = laptop.bootstrap(nowhere, *asked(provider, host), "--pull-request", "--json", env=env).well()
    assert bare.refs().keys() == {"refs/heads/main", f"refs/heads/{BRANCH}"}
    assert git("rev-parse", f"{BRANCH}^", at=bare.folder) == before
    assert done.value["pull-request"]["branch"] == BRANCH
    again = laptop.bootstrap(nowhere, *asked(provider, host), "--pull-request", "--json", env=env).well()
    assert again.value["outcome"] == "none"
    git("update-ref", "refs/heads/main", f"refs/heads/{BRANCH}", at=bare.folder)
    merged = laptop.bootstrap(nowhere, *asked(provider, host), "--pull-request", "--json", env=env).well()
    assert merged.cluster["files"] == []
    assert merged.value["failures"] == []


@pytest.mark.parametrize("how", ["--push", "--pull-request"])
def test_a_dry_run_pushes_nothing(laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path, how: str) -> None:
    begun(bare, host.root.parent / "ann")
    before, pushed = bare.refs(), bare.pushes()
    env = {"GITLAB_TOKEN": WRITE}
    done = laptop.bootstrap(nowhere, *asked("gitlab", host), how, "--dry-run", "--json", env=env).well()
    assert (done.value["outcome"], done.value["commit"]) == ("held", None)
    assert [each["path"] for each in done.cluster["files"]] == FILES
    assert bare.refs() == before and bare.pushes() == pushed


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("token", ["", "wrong-token", READ], ids=["none", "wrong", "read-only"])
def test_a_token_that_is_not_taken(laptop: Laptop, host: HttpHost, nowhere: Path, provider: str, token: str) -> None:
    bare = bare_of(provider, host)
    begun(bare, host.root.parent / "ann")
    before = bare.refs()
    env = {TOKENS[provider]: token} if token else {}
    for how in ("--push", "--pull-request"):
        done = laptop.bootstrap(nowhere, *asked(provider, host), how, env=env)
        require_error(ForbiddenByForge, done.code, done.err)
        if token:
            assert token not in done.out + done.err
    assert bare.refs() == before


def test_a_token_goes_to_its_own_host_alone(laptop: Laptop, host: HttpHost, nowhere: Path, tmp_path: Path) -> None:
    """Tokens of all providers are there; each server gets one, and follows no redirect with it."""
    bare = bare_of("gitlab", host)
    env = {"GITLAB_TOKEN": WRITE, "GITEA_TOKEN": "gitea-77", "GITHUB_TOKEN": "github-77", "GIT_PASSWORD": "git-77"}
    laptop.bootstrap(nowhere, *asked("gitlab", host), "--push", env=env).well()
    assert tokens_seen(host) == {WRITE}
    assert listed(bare, "main") == FILES
    (tmp_path / "other").mkdir()
    with HttpHost(tmp_path / "other") as other:
        host.redirect = other.url
        moved = laptop.bootstrap(nowhere, *asked("gitlab", host), "--push", "--interval=9m", env=env)
        assert error_names(moved.err) <= {ForgeUnavailable.slug, ForbiddenByForge.slug}, moved.err
        assert moved.code in (ForgeUnavailable.exit_code, ForbiddenByForge.exit_code), moved.err
        assert other.seen == []


def test_a_token_is_not_for_a_host_that_the_checkout_came_from(
    laptop: Laptop, host: HttpHost, bare: Bare, tmp_path: Path
) -> None:
    """What is named is pushed to, and no mirror of the same name."""
    (tmp_path / "other").mkdir()
    with HttpHost(tmp_path / "other") as other:
        mirror = Bare.make(other.root / "octo" / "fleet.git")
        checkout = clone_with(tmp_path / "ann", f"{other.url}/octo/fleet.git")
        env = {"GITLAB_TOKEN": WRITE}
        laptop.bootstrap(checkout, *asked("gitlab", host), "--push", env=env).well()
        assert other.seen == [] and mirror.refs() == {}
    assert listed(bare, "main") == FILES


def test_the_clones_own_remote_is_pushed_to(laptop: Laptop, host: HttpHost, bare: Bare, tmp_path: Path) -> None:
    checkout = clone_with(tmp_path / "ann", f"{host.url}/octo/fleet.git")
    env = {"GITEA_TOKEN": WRITE}
    done = laptop.bootstrap(checkout, "--provider=gitea", "--token-auth", PATH, "--push", env=env).well()
    assert listed(bare, "main") == FILES
    assert list(files_of(checkout)) == ["README.md"], done.out
    assert f"url: {host.url}/octo/fleet.git\n" in bare.content(f"main:{SYNC}") + "\n"


def test_somebody_is_faster(laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path, tmp_path: Path) -> None:
    """Between look and push: nothing is overwritten, and the next run goes on from there."""
    ann = clone_with(tmp_path / "ann", str(bare.folder))
    git("push", "--quiet", "origin", "main", at=ann)
    git("commit", "--quiet", "--allow-empty", "--message=Second", at=ann)
    second = git("rev-parse", "HEAD", at=ann)
    git("push", "--quiet", "origin", "HEAD:refs/hidden/second", at=ann)
    bare.hook(
        f"[ $(git rev-parse main) = {second} ] || env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main {second}"
    )
    env = {"GITLAB_TOKEN": WRITE}
    done = laptop.bootstrap(nowhere, *asked("gitlab", host), "--push", "--json", env=env)
    require_error(Overtaken, done.code, done.err)
    assert [each["slug"] for each in done.value["failures"]] == ["overtaken"]
    assert done.value["commit"] is None
    assert git("rev-parse", "main", at=bare.folder) == second
    laptop.bootstrap(nowhere, *asked("gitlab", host), "--push", env=env).well()
    assert git("rev-parse", "main^", at=bare.folder) == second


def test_a_protected_branch(laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path, tmp_path: Path) -> None:
    begun(bare, tmp_path / "ann")
    before = bare.refs()
    refusal = "GitLab: You are not allowed to push code to protected branches on this project."
    bare.hook(f"echo '{refusal}' >&2; exit 1")
    env = {"GITLAB_TOKEN": WRITE}
    done = laptop.bootstrap(nowhere, *asked("gitlab", host), "--push", env=env)
    done.refused(ForbiddenByForge, "protected branches")
    assert "--pull-request" in done.err
    assert bare.refs() == before


def test_a_branch_that_is_not_there(laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path, tmp_path: Path) -> None:
    begun(bare, tmp_path / "ann")
    env = {"GITLAB_TOKEN": WRITE}
    done = laptop.bootstrap(nowhere, *asked("gitlab", host), "--push", "--branch=production", env=env)
    done.refused(RepositoryUnfit, "production")
    assert list(bare.refs()) == ["refs/heads/main"]


def test_a_server_that_is_down(laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path) -> None:
    host.status = 503
    env = {"GITLAB_TOKEN": WRITE}
    done = laptop.bootstrap(nowhere, *asked("gitlab", host), "--push", env=env).refused(ForgeUnavailable)
    assert WRITE not in done.err + done.out
    assert bare.refs() == {}


def test_a_job_s_token_is_no_token_for_the_cluster(
    laptop: Laptop, host: HttpHost, bare: Bare, nowhere: Path, tmp_path: Path
) -> None:
    env = {"GITLAB_TOKEN": WRITE, "FLUX_UPGRADE_SYNC_TOKEN": "ghs_1234567890abcdef"}
    secret = tmp_path / "secret.yaml"
    done = laptop.bootstrap(
        nowhere, *asked("gitlab", host), "--push", "--token-auth", f"--secret-file={secret}", env=env
    )
    done.refused(UsageError, "FLUX_UPGRADE_SYNC_TOKEN")
    assert "ghs_1234" not in done.err
    assert bare.refs() == {} and not secret.exists()


def by_ssh(laptop: Laptop, ssh: SshHost, key: str, bare: Bare, *argv: str | Path) -> Done:
    env = {"GIT_SSH_COMMAND": ssh.command(key)}
    return laptop.bootstrap("--provider=git", f"--url={ssh.url(bare.folder)}", PATH, *argv, env=env)


@pytest.mark.parametrize("how", ["--push", "--pull-request"])
def test_over_ssh(laptop: Laptop, ssh: SshHost, nowhere: Path, tmp_path: Path, how: str) -> None:
    bare = Bare.make(tmp_path / "infra.git")
    begun(bare, tmp_path / "ann")
    by_ssh(laptop, ssh, "writer", bare, nowhere, how).well()
    where = "main" if how == "--push" else BRANCH
    assert listed(bare, where) == ["README.md", *FILES]
    assert ssh.url(bare.folder) in bare.content(f"{where}:{SYNC}")
    assert "Flux" in bare.content(f"{where}:{COMPONENTS}")


@pytest.mark.parametrize("key", ["reader", "stranger"])
def test_a_key_that_may_not(laptop: Laptop, ssh: SshHost, nowhere: Path, tmp_path: Path, key: str) -> None:
    bare = Bare.make(tmp_path / "infra.git")
    begun(bare, tmp_path / "ann")
    before = bare.refs()
    by_ssh(laptop, ssh, key, bare, nowhere, "--push").refused(ForbiddenByForge)
    assert bare.refs() == before
