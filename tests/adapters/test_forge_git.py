"""Over plain Git, branches are pushed and pull requests opened, and no commit of another user is overwritten."""

from __future__ import annotations

import base64
import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from adapters.on_git import BODY, BRANCH, NOW, PATH, QUESTION, STATE, World, make, opening, updating
from flux_upgrade.adapters.git.forge import GitForge
from flux_upgrade.adapters.git.remotes import RemoteAccess
from flux_upgrade.model import markers
from flux_upgrade.model.errors import (
    DraftsUnavailable,
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    Overtaken,
    RepositoryUnfit,
    UsageError,
)
from flux_upgrade.model.file_history import blob_id
from flux_upgrade.model.forge import ClosePull, Done, Extras, OpenIssue, PullState, Question
from git_servers import PERSON, READ, WRITE, Bare, HttpHost, SshHost, git, give_away
from replacing import replace


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def world(tmp_path: Path, stack: ExitStack) -> World:
    return make(tmp_path, stack)


def test_looks_without_a_write(world: World) -> None:
    newest = world.commit("v2.9.3 by hand\n", "Edit by hand\n\nWith a reason")
    forge = world.forge()
    seen = forge.fetch(QUESTION)
    assert (seen.name, seen.base, seen.base_oid) == ("fleet/infra", "main", newest)
    assert seen.url == f"{world.host.url}/fleet/infra"
    assert seen.base_tree == git("rev-parse", f"{newest}^{{tree}}", at=world.person)
    assert seen.files[PATH].oid == blob_id(b"v2.9.3 by hand\n")
    assert seen.files[PATH].mode == "100644"
    assert seen.files[PATH].history == ("Edit by hand\n\nWith a reason", "First")
    assert seen.files["missing.yaml"].oid == ""
    assert {name: branch.head for name, branch in seen.branches.items()} == {BRANCH: None, "flux-upgrade/other": None}
    assert seen.recent == ("Edit by hand", "First")
    assert forge.calls == 2
    assert world.bare.pushes() == 1


def test_looks_at_the_base_that_was_asked_for(world: World) -> None:
    git("checkout", "--quiet", "-b", "release/1", at=world.person)
    oid = world.commit("v2.8.0\n", branch="release/1")
    seen = world.forge().fetch(replace(QUESTION, base="release/1"))
    assert (seen.base, seen.base_oid) == ("release/1", oid)


@pytest.mark.parametrize("with_filter", [True, False])
@pytest.mark.parametrize("sha256", [True, False])
def test_opens_a_branch_that_a_later_run_knows(
    tmp_path: Path, stack: ExitStack, *, sha256: bool, with_filter: bool
) -> None:
    world = make(tmp_path, stack, sha256=sha256, with_filter=with_filter)
    world.commit("x\n", path="other.yaml")
    forge = world.forge()
    seen = forge.fetch(QUESTION)
    world.host.seen.clear()
    done = forge.apply(opening(seen))
    assert not [path for path, _ in world.host.seen if "git-upload-pack" in path]
    assert done == Done(head=world.bare.refs()[f"refs/heads/{BRANCH}"])
    assert world.bare.content(f"{BRANCH}:{PATH}") == "v2.9.4"
    assert world.bare.content(f"{BRANCH}:other.yaml") == "x"
    assert git("rev-parse", f"{BRANCH}^", at=world.bare.folder) == seen.base_oid
    assert git("log", "-1", "--format=%an <%ae> %ct", BRANCH, at=world.bare.folder) == (
        "flux-upgrade <flux-upgrade@users.noreply.invalid> 1700000000"
    )

    later = world.forge().fetch(QUESTION).branches[BRANCH]
    assert later.head is not None
    assert later.head.oid == done.head
    assert markers.is_ours(later.head)
    assert later.head.statuses == {"flux-upgrade/proof": "success"}
    (pull,) = later.pulls
    assert (pull.state, pull.is_draft, pull.title) == (PullState.OPEN, False, "Update Flux to v2.9.4")
    assert markers.state_of(pull.body) == STATE
    assert markers.replaced(pull.body, "anything") is None
    assert pull.created_at == "2023-11-14T22:13:20Z"


def test_what_is_as_it_should_be_is_not_pushed_again(world: World) -> None:
    first = world.forge()
    head = first.apply(opening(first.fetch(QUESTION))).head
    again = world.forge()
    seen = again.fetch(QUESTION)
    assert again.apply(replace(opening(seen), commit=None)) == Done(head=head)
    assert again.apply(updating(seen, None)) == Done(head=head)
    assert world.bare.pushes() == 1
    assert again.calls == 2


def test_replaces_its_own_branch(world: World) -> None:
    first = world.forge()
    first.apply(opening(first.fetch(QUESTION)))
    base = world.commit("other\n", path="other.yaml")
    again = world.forge()
    seen = again.fetch(QUESTION)
    done = again.apply(updating(seen, "v2.9.5\n"))
    assert world.bare.content(f"{BRANCH}:{PATH}") == "v2.9.5"
    assert git("rev-parse", f"{BRANCH}^", at=world.bare.folder) == base
    branch = world.forge().fetch(QUESTION).branches[BRANCH]
    assert branch.head is not None
    assert branch.head.oid == done.head
    state = markers.state_of(branch.pulls[0].body)
    assert state is not None
    assert state.target == "v2.9.5"


@pytest.mark.parametrize("first", [True, False])
def test_a_person_who_pushes_between_look_and_take_loses_nothing(world: World, *, first: bool) -> None:
    if not first:
        forge = world.forge()
        forge.apply(opening(forge.fetch(QUESTION)))
    forge = world.forge()
    seen = forge.fetch(QUESTION)
    theirs = world.commit("mine\n", "Mine", BRANCH)
    with pytest.raises(Overtaken, match="another user or run"):
        forge.apply(opening(seen) if first else updating(seen, "v2.9.5\n"))
    assert world.bare.refs()[f"refs/heads/{BRANCH}"] == theirs
    branch = world.forge().fetch(QUESTION).branches[BRANCH]
    assert branch.head is not None
    assert (branch.head.oid, branch.pulls) == (theirs, ())
    assert not markers.is_ours(branch.head)


def test_a_race_at_the_server_itself_is_lost_too(world: World) -> None:
    forge = world.forge()
    seen = forge.fetch(QUESTION)
    # Between the server's answer and its update: the hook is the person.
    world.bare.write_hook("update", f"#!/bin/sh\ngit update-ref refs/heads/{BRANCH} {seen.base_oid}\n")
    with pytest.raises(Overtaken):
        forge.apply(opening(seen))
    assert world.bare.refs()[f"refs/heads/{BRANCH}"] == seen.base_oid


def test_closing_deletes_the_branch_and_only_as_it_was_seen(world: World) -> None:
    forge = world.forge()
    forge.apply(opening(forge.fetch(QUESTION)))
    forge = world.forge()
    pull = forge.fetch(QUESTION).branches[BRANCH].pulls[0]
    theirs = world.commit("mine\n", "Mine", BRANCH)
    with pytest.raises(Overtaken):
        forge.apply(ClosePull(pull, ""))
    assert world.bare.refs()[f"refs/heads/{BRANCH}"] == theirs
    git("push", "--quiet", "--force", "origin", f"{pull.head and pull.head.oid}:refs/heads/{BRANCH}", at=world.person)
    forge.apply(ClosePull(pull, ""))
    assert list(world.bare.refs()) == ["refs/heads/main"]


def test_a_branch_that_was_merged_is_known_as_merged(world: World) -> None:
    forge = world.forge()
    forge.apply(opening(forge.fetch(QUESTION)))
    git("fetch", "--quiet", "origin", at=world.person)
    git("merge", "--quiet", "--no-ff", "-m", "Merge", f"origin/{BRANCH}", at=world.person)
    git("push", "--quiet", "origin", "HEAD:main", at=world.person)
    assert world.forge().fetch(QUESTION).branches[BRANCH].pulls[0].state is PullState.MERGED


# -- merge requests by push options


def test_gitlab_opens_a_merge_request_with_the_push(world: World) -> None:
    world.bare.answer("View merge request for x:", f"  {world.host.url}/fleet/infra/-/merge_requests/12")
    forge = world.forge("gitlab")
    extras = Extras(("flux", "a b"), ("ann",), ("bob",), auto_merge=True)
    done = forge.apply(opening(forge.fetch(QUESTION), extras=extras, is_draft=True))
    assert (done.number, done.url) == (12, f"{world.host.url}/fleet/infra/-/merge_requests/12")
    assert done.warnings == ("reviewers: not possible by a push to this server",)
    options = world.bare.options()
    described = [option for option in options if option.startswith("merge_request.description=")]
    assert [option for option in options if option not in described] == [
        "merge_request.create",
        "merge_request.target=main",
        "merge_request.remove_source_branch",
        "merge_request.title=Draft: Update Flux to v2.9.4",
        "merge_request.label=flux",
        "merge_request.label=a b",
        "merge_request.assign=ann",
        "merge_request.auto_merge",
        "merge_request.merge_when_pipeline_succeeds",
    ]
    # What GitLab makes of it
    text = described[0].partition("=")[2].replace("\\n", "\n")
    assert text == BODY.replace("\n/merge", "\n&#47;merge").replace("\\n", "&#92;n")


def test_gitlab_draft_is_made_ready_by_its_title(world: World) -> None:
    world.bare.answer(f"{world.host.url}/fleet/infra/-/merge_requests/12")
    forge = world.forge("gitlab")
    forge.apply(opening(forge.fetch(QUESTION), is_draft=True))
    forge = world.forge("gitlab")
    seen = forge.fetch(QUESTION)
    assert seen.branches[BRANCH].pulls[0].is_draft
    forge.apply(updating(seen, None, make_ready=True))
    assert world.bare.options()[-1] == "merge_request.title=Update Flux to v2.9.4"
    again = world.forge("gitlab").fetch(QUESTION).branches[BRANCH]
    assert again.head is not None
    assert markers.is_ours(again.head)
    assert not again.pulls[0].is_draft
    before = seen.branches[BRANCH].head
    assert before is not None
    assert again.head.tree == before.tree


def test_says_what_gitlab_says_where_it_opens_none(world: World) -> None:
    world.bare.answer("WARNINGS:", "Error encountered with push options: Title is too long")
    forge = world.forge("gitlab")
    done = forge.apply(opening(forge.fetch(QUESTION)))
    assert "Title is too long" in done.warnings[0]


def test_a_link_to_another_host_is_not_believed(world: World) -> None:
    world.bare.answer("View it: https://evil.example/fleet/infra/-/merge_requests/12")
    forge = world.forge("gitlab")
    done = forge.apply(opening(forge.fetch(QUESTION)))
    assert (done.number, done.url) == (0, "")


def test_a_plain_server_may_say_where_to_open_a_pull_request(world: World) -> None:
    link = f"{world.host.url}/fleet/infra/compare/main...{BRANCH}"
    world.bare.answer("Create a new pull request:", f"  {link}")
    forge = world.forge()
    done = forge.apply(opening(forge.fetch(QUESTION)))
    assert (done.number, done.url) == (0, link)
    assert world.bare.options() == []


def test_a_text_that_is_too_long_is_cut_at_a_line(world: World) -> None:
    forge = world.forge("gitlab")
    step = replace(opening(forge.fetch(QUESTION)), body="é" * 99 + "\n" + "another line\n" * 20_000)
    forge.apply(step)
    (described,) = [option for option in world.bare.options() if "description=" in option]
    assert 50_000 < len(described.encode()) < 65_000
    assert described.endswith("\\nanother line\\n\\n… (cut: the server limits the length of this text)\\n")


# -- what is refused


def test_a_draft_where_there_are_none_is_not_pushed_at_all(world: World) -> None:
    forge = world.forge()
    with pytest.raises(DraftsUnavailable):
        forge.apply(opening(forge.fetch(QUESTION), is_draft=True))
    assert world.bare.pushes() == 0
    done = forge.apply(OpenIssue("Flux 2.10", "…", ()))
    assert "summary" in done.warnings[0]


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_a_valid_token_it_is_forbidden(world: World, token: str) -> None:
    with pytest.raises(ForbiddenByForge, match="could not read Username") as caught:
        world.forge(token=token).fetch(QUESTION)
    assert "token" in caught.value.hint


def test_a_token_that_reads_may_not_push(world: World) -> None:
    forge = world.forge(token=READ)
    seen = forge.fetch(QUESTION)
    with pytest.raises(ForbiddenByForge, match="not allowed to push"):
        forge.apply(opening(seen))


def test_a_hook_that_declines_is_quoted_on_one_line(world: World) -> None:
    world.bare.hook("echo 'GL-HOOK-ERR: only signed'; printf 'commits\\033[31m here\\n'; exit 1")
    forge = world.forge()
    seen = forge.fetch(QUESTION)
    with pytest.raises(ForbiddenByForge, match="pre-receive hook declined") as caught:
        forge.apply(opening(seen))
    assert "GL-HOOK-ERR: only signed / commits\\x1b[31m here" in caught.value.message


def test_a_server_without_push_options_is_reported(world: World) -> None:
    git("config", "receive.advertisePushOptions", "false", at=world.bare.folder)
    forge = world.forge("gitlab")
    with pytest.raises(ForbiddenByForge, match="push options") as caught:
        forge.apply(opening(forge.fetch(QUESTION)))
    assert "forge: git" in caught.value.hint
    assert list(world.bare.refs()) == ["refs/heads/main"]


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_is_broken_is_unavailable(world: World, status: int) -> None:
    world.host.status = status
    with pytest.raises(ForgeUnavailable, match=str(status)):
        world.forge().fetch(QUESTION)


def test_a_server_that_is_away_is_unavailable(world: World) -> None:
    with pytest.raises(ForgeUnavailable):
        world.forge(url="http://127.0.0.1:9/fleet/infra.git").fetch(QUESTION)


def test_a_repository_that_is_not_there(world: World) -> None:
    with pytest.raises(RepositoryUnfit):
        world.forge(url=f"{world.host.url}/fleet/other.git").fetch(QUESTION)


def test_a_base_that_is_not_there(world: World) -> None:
    with pytest.raises(RepositoryUnfit, match="no branch nowhere"):
        world.forge().fetch(replace(QUESTION, base="nowhere"))


def test_an_empty_repository(world: World) -> None:
    Bare.make(world.host.root / "empty.git")
    with pytest.raises(RepositoryUnfit, match="is empty"):
        world.forge(url=f"{world.host.url}/empty.git").fetch(QUESTION)


# -- credentials


def recording_git(folder: Path) -> tuple[str, Path]:
    """A ``git`` that writes down its arguments and environment's names, and is found first."""
    folder.mkdir()
    record = folder / "argv.txt"
    real = next(f"{each}/git" for each in PERSON["PATH"].split(":") if os.access(f"{each}/git", os.X_OK))
    (folder / "git").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {record}\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)
    return f"{folder}:{PERSON['PATH']}", record


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_token_is_in_the_environment_alone(world: World, tmp_path: Path) -> None:
    path, record = recording_git(tmp_path / "bin")
    forge = world.forge(environment={"PATH": path}, checkout=world.person)
    forge.apply(opening(forge.fetch(QUESTION)))
    secret = base64.b64encode(f"oauth2:{WRITE}".encode())
    arguments = record.read_bytes()
    assert b"push" in arguments
    for each in (arguments, everything_in(Path(forge._git._folder)), everything_in(world.person)):  # noqa: SLF001  (what it left on disk)
        assert WRITE.encode() not in each
        assert secret not in each
    assert WRITE not in repr(RemoteAccess(world.url, "git", token=WRITE))


@pytest.mark.parametrize("status", [0, 500])
def test_no_error_shows_a_secret(world: World, status: int) -> None:
    world.host.status = status
    url = world.url.replace("http://", "http://bot:hunter2@")
    for question in (QUESTION, replace(QUESTION, base="nowhere")):
        with pytest.raises(FluxUpgradeError) as caught:
            world.forge(url=url, token="" if status == 0 else WRITE).fetch(question)
        shown = f"{caught.value.message} {caught.value.hint}"
        assert "hunter2" not in shown
        assert WRITE not in shown


def test_a_redirect_does_not_take_the_token_along(world: World, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = world.stack.enter_context(HttpHost(tmp_path / "elsewhere"))
    world.host.redirect = other.url
    with pytest.raises(ForgeUnavailable, match="redirects"):
        world.forge().fetch(QUESTION)
    assert other.seen == []


def test_the_checkout_s_own_credentials_are_used(world: World) -> None:
    header = "Authorization: Basic " + base64.b64encode(f"x-access-token:{WRITE}".encode()).decode()
    git("config", f"http.{world.host.url}/.extraheader", header, at=world.person)
    forge = world.forge(token="", checkout=world.person)
    forge.apply(opening(forge.fetch(QUESTION)))
    assert f"refs/heads/{BRANCH}" in world.bare.refs()


def test_the_user_s_credential_helper_is_used(world: World, tmp_path: Path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[credential]\n\thelper = "!echo username=ann; echo password={WRITE}; :"\n')
    forge = world.forge(token="", environment={"GIT_CONFIG_GLOBAL": str(settings)})
    assert forge.fetch(QUESTION).base == "main"


def test_a_token_over_ssh_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="uses ssh"):
        GitForge(RemoteAccess("git@gitlab.com:fleet/infra.git", "gitlab", token="x"), PERSON, lambda: NOW)


# -- ssh


@pytest.fixture
def ssh(tmp_path: Path, stack: ExitStack) -> SshHost:
    return stack.enter_context(SshHost(tmp_path / "ssh"))


def test_pushes_over_ssh(world: World, ssh: SshHost) -> None:
    environment = {"GIT_SSH_COMMAND": ssh.command("writer")}
    forge = world.forge(token="", url=ssh.url(world.bare.folder), environment=environment)
    done = forge.apply(opening(forge.fetch(QUESTION)))
    assert world.bare.refs()[f"refs/heads/{BRANCH}"] == done.head


def test_a_deploy_key_that_reads_may_not_push(world: World, ssh: SshHost) -> None:
    environment = {"GIT_SSH_COMMAND": ssh.command("reader")}
    forge = world.forge(token="", url=ssh.url(world.bare.folder), environment=environment)
    seen = forge.fetch(QUESTION)
    with pytest.raises(ForbiddenByForge, match="read only deploy key"):
        forge.apply(opening(seen))


@pytest.mark.parametrize(
    ("key", "hosts", "expected"),
    [("stranger", "known_hosts", "Permission denied"), ("writer", "none", "Host key verification failed")],
)
def test_ssh_without_a_valid_key_is_forbidden(world: World, ssh: SshHost, key: str, hosts: str, expected: str) -> None:
    environment = {"GIT_SSH_COMMAND": ssh.command(key, hosts)}
    with pytest.raises(ForbiddenByForge, match=expected):
        world.forge(token="", url=ssh.url(world.bare.folder), environment=environment).fetch(QUESTION)


# -- the user's checkout


def fingerprint(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a checkout and its repository, with the time of its last change."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "kind", ["full", "shallow", "partial", "worktree", "dirty", "another repository", "somebody else's"]
)
def test_the_checkout_is_left_as_it_was(world: World, tmp_path: Path, kind: str) -> None:
    world.commit("v2.9.3 again\n")
    checkout = tmp_path / "checkout"
    options = {"shallow": ["--depth=1"], "partial": ["--filter=blob:none"]}.get(kind, [])
    source = f"file://{world.bare.folder}"
    git("clone", "--quiet", *options, source, checkout)
    if kind == "worktree":
        git("worktree", "add", "--quiet", tmp_path / "tree", at=checkout)
        checkout = tmp_path / "tree"
    if kind == "dirty":
        (checkout / PATH).write_text("dirty\n")
    if kind == "another repository":
        git("init", "--quiet", tmp_path / "unrelated")
        checkout = tmp_path / "unrelated"
    for hook in ("pre-push", "reference-transaction", "post-index-change"):
        script = Path(git("rev-parse", "--path-format=absolute", "--git-path", "hooks", at=checkout)) / hook
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
        script.chmod(0o755)
    if kind == "somebody else's":
        give_away(checkout)
    before = fingerprint(checkout)
    forge = world.forge(checkout=checkout)
    forge.apply(opening(forge.fetch(QUESTION)))
    forge = world.forge(checkout=checkout)
    forge.apply(updating(forge.fetch(QUESTION), "v2.9.5\n"))
    assert world.bare.content(f"{BRANCH}:{PATH}") == "v2.9.5"
    assert fingerprint(checkout) == before
    assert not (tmp_path / "hook-ran").exists()


def test_a_full_checkout_spares_the_download(world: World, tmp_path: Path) -> None:
    (tmp_path / "person" / "large.bin").write_bytes(random.Random(1).randbytes(200_000))  # noqa: S311  (no secret)
    world.commit("v2.9.3 again\n")
    git("config", "uploadpack.allowFilter", "false", at=world.bare.folder)
    sent = []
    for checkout in (world.person, None):
        world.host.sent = 0
        world.forge(checkout=checkout).fetch(QUESTION)
        sent.append(world.host.sent)
    assert sent[0] < 10_000
    assert sent[1] > 200_000


def test_a_remote_of_that_name_elsewhere_does_not_mislead(world: World, tmp_path: Path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text('[remote "origin"]\n\turl = https://evil.example/x\n\tpushurl = https://evil.example/x\n')
    forge = world.forge(environment={"GIT_CONFIG_GLOBAL": str(settings)}, checkout=world.person)
    forge.apply(opening(forge.fetch(QUESTION)))
    assert f"refs/heads/{BRANCH}" in world.bare.refs()


def test_commits_as_the_user_does(world: World) -> None:
    git("config", "user.name", "Ann of the checkout", at=world.person)
    git("config", "user.email", "ann@example.org", at=world.person)
    forge = world.forge(checkout=world.person)
    forge.apply(opening(forge.fetch(QUESTION)))
    assert git("log", "-1", "--format=%an <%ae>", BRANCH, at=world.bare.folder) == (
        "Ann of the checkout <ann@example.org>"
    )


def test_what_is_temporary_is_gone_afterwards(world: World) -> None:
    with closing(world.forge()) as forge:
        forge.fetch(QUESTION)
        folder = Path(forge._git._folder).parent  # noqa: SLF001  (where it works)
        assert folder.exists()
    assert not folder.exists()


def test_a_long_history_is_fetched_in_part_and_reported_as_far_as_it_is_known(world: World) -> None:
    for number in range(60):
        git("commit", "--quiet", "--allow-empty", "-m", f"Number {number}", at=world.person)
    git("push", "--quiet", "origin", "HEAD:main", at=world.person)
    seen = world.forge().fetch(QUESTION)
    assert seen.recent[0] == "Number 59"
    assert len(seen.recent) == 20
    # The commit at the edge did not touch the file, it only looks so.
    assert seen.files[PATH].history == ()
    assert world.forge(checkout=world.person).fetch(QUESTION).files[PATH].history == ("First",)


def test_since_when_the_base_holds_a_file(world: World) -> None:
    """A branch that was made before and merged later counts from its merge."""
    asked = Question((), (PATH,), watched=(PATH,))
    begun = world.commit("one", "Begin")
    assert [each.oid for each in world.forge().fetch(asked).commits] == [begun]
    world.commit("two", "Upgrade", branch="work")
    hello = world.commit("hello", "Say hello", path="README.md")
    git("merge", "--quiet", "--no-ff", "-m", "Merge", "origin/work", at=world.person)
    git("push", "--quiet", "origin", "HEAD:main", at=world.person)
    merged = git("rev-parse", "HEAD", at=world.person)
    last = world.commit("hello again", path="README.md")
    found = world.forge().fetch(asked).commits
    assert [each.oid for each in found] == [last, merged]
    assert found[0].blobs == found[1].blobs
    assert hello not in {each.oid for each in found}
    assert world.forge().fetch(QUESTION).commits == ()
