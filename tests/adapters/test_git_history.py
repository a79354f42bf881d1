"""Earlier contents of a file are found in Git history, across merges, renames and deletions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flux_upgrade.adapters.git.checkout import Checkout
from flux_upgrade.adapters.git.git_history import GitHistory
from flux_upgrade.model.file_history import FileRevision, FileRevisions, Mentions
from flux_upgrade.model.unknown import Unknown
from git_servers import PERSON, git

PATH = "clusters/production/flux-system/gotk-components.yaml"
OLD = "cluster/flux-system/gotk-components.yaml"


class Repository:
    """A person's, with a clock that goes on by a day with each commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.day = 0
        git("init", "--quiet", "--initial-branch=main", folder)

    def git(self, *arguments: str) -> str:
        when = f"2025-01-{self.day:02}T12:00:00+02:00"
        return git(
            *arguments, at=self.folder, more={"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z"}
        )

    def commit(self, text: str | bytes, path: str = PATH) -> str:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self.done()

    def done(self) -> str:
        self.day += 1
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "Change")
        return self.git("rev-parse", "HEAD")

    def merge(self, branch: str, *options: str) -> None:
        self.day += 1
        self.git("merge", "--quiet", "--no-ff", *options, "-m", "Merge", branch)

    @property
    def history(self) -> GitHistory:
        return GitHistory(Checkout(str(self.folder), PERSON))

    def contents(self, path: str = PATH) -> list[str]:
        """What the file was, oldest first; in brackets what only merged branches had.

        It is the same, whether the commits are walked for this file alone or for all files together.
        """
        found = self.history.of(path)
        assert found.missing is None
        files = [each for each in self.folder.rglob("*") if ".git" not in each.parts]
        paths = (each.relative_to(self.folder).as_posix() for each in files)
        together = GitHistory(Checkout(str(self.folder), PERSON), paths)
        assert together.of(path) == found
        texts = [(past.content.decode().strip(), past.is_aside) for past in found.versions]
        return [f"({text})" if is_aside else text for text, is_aside in texts]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "fleet")


def test_what_a_file_was(repository: Repository) -> None:
    first = repository.commit(b"\xef\xbb\xbfone\r\n")
    repository.commit("beside", "other.yaml")
    second = repository.commit("two")
    assert repository.history.of(PATH) == FileRevisions(
        (
            FileRevision(first, "2025-01-01T10:00:00Z", b"\xef\xbb\xbfone\r\n"),
            FileRevision(second, "2025-01-03T10:00:00Z", b"two"),
        )
    )


def test_a_content_that_came_back_is_there_again(repository: Repository) -> None:
    for text in ("one", "two", "one", "two"):
        repository.commit(text)
    assert repository.contents() == ["one", "two", "one", "two"]


def test_what_was_removed_and_made_again(repository: Repository) -> None:
    repository.commit("one")
    (repository.folder / PATH).unlink()
    repository.done()
    repository.commit("")
    repository.commit("two")
    assert repository.contents() == ["one", "", "two"]


def test_only_what_was_committed_counts(repository: Repository) -> None:
    repository.commit("one")
    (repository.folder / PATH).write_text("two")
    assert repository.contents() == ["one"]
    assert repository.history.of("new.yaml") == FileRevisions(missing=Unknown("it is not committed yet"))


# -- branches


def test_a_pull_request_that_was_merged(repository: Repository) -> None:
    repository.commit("one")
    repository.git("checkout", "--quiet", "-b", "renovate")
    repository.commit("two")
    repository.commit("three")
    repository.git("checkout", "--quiet", "main")
    repository.commit("beside", "other.yaml")
    repository.merge("renovate")
    assert repository.contents() == ["one", "(two)", "(three)", "three"]


def test_a_pull_that_merges_turns_the_lines_around(repository: Repository) -> None:
    """Git's own history would leave out what the branch was at in between."""
    repository.commit("one")
    repository.git("branch", "origin")
    repository.commit("mine", "other.yaml")
    repository.git("checkout", "--quiet", "origin")
    repository.commit("two")
    repository.commit("three")
    repository.git("checkout", "--quiet", "main")
    repository.merge("origin")
    assert repository.contents() == ["one", "(two)", "(three)", "three"]


def test_an_upgrade_that_a_merge_took_back(repository: Repository) -> None:
    """The merge is as its second parent: Git's own history would not show what ran."""
    repository.commit("one")
    repository.git("branch", "old")
    repository.commit("two")
    repository.git("checkout", "--quiet", "old")
    repository.commit("beside", "other.yaml")
    repository.git("checkout", "--quiet", "main")
    repository.merge("old", "--no-commit", "-s", "ours")
    (repository.folder / PATH).write_text("one")
    repository.done()
    assert repository.contents() == ["one", "two", "one"]


def test_a_branch_that_was_never_merged_does_not_count(repository: Repository) -> None:
    repository.commit("one")
    repository.git("checkout", "--quiet", "-b", "tried")
    repository.commit("two")
    repository.git("checkout", "--quiet", "main")
    assert repository.contents() == ["one"]


# -- renames


def test_a_file_that_was_moved(repository: Repository) -> None:
    long = "\n".join(map(str, range(200)))
    repository.commit(f"one\n{long}", OLD)
    repository.commit(f"two\n{long}", OLD)
    (repository.folder / PATH).parent.mkdir(parents=True)
    repository.git("mv", OLD, PATH)
    repository.commit(f"three\n{long}")
    repository.git("mv", PATH, "gotk.yaml")
    repository.done()
    assert [content.split("\n")[0] for content in repository.contents("gotk.yaml")] == ["one", "two", "three", "three"]


def test_a_copy_is_no_rename(repository: Repository) -> None:
    repository.commit("one", OLD)
    repository.commit("one")
    assert repository.contents() == ["one"]


def test_a_rename_by_a_merged_branch(repository: Repository) -> None:
    repository.commit("one\n" * 50, OLD)
    repository.git("checkout", "--quiet", "-b", "tidy")
    (repository.folder / PATH).parent.mkdir(parents=True)
    repository.git("mv", OLD, PATH)
    repository.done()
    repository.git("checkout", "--quiet", "main")
    repository.commit("two\n" + "one\n" * 50, OLD)
    repository.merge("tidy")
    found = [content.partition("\n")[0] for content in repository.contents()]
    assert found[0] == "one"
    assert found[-1] == "two"


def test_two_files_that_changed_places(repository: Repository) -> None:
    repository.commit("one\n" * 50, "a.yaml")
    repository.commit("two\n" * 50, "b.yaml")
    for old, new in (("a.yaml", "c.yaml"), ("b.yaml", "a.yaml"), ("c.yaml", "b.yaml")):
        repository.git("mv", old, new)
    repository.done()
    assert {content.partition("\n")[0] for content in repository.contents("a.yaml")} == {"one", "two"}


# -- what is odd


@pytest.mark.parametrize(
    "path", ["-x.yaml", "a b.yaml", "ü/\u202e.yaml", "a\nb.yaml", ":(glob)*.yaml", "*.yaml", "a\tb.yaml", '"q".yaml']
)
def test_a_path_is_a_path(repository: Repository, path: str) -> None:
    repository.commit("other", "z.yaml")
    repository.commit("one", path)
    repository.commit("two", path)
    assert repository.contents(path) == ["one", "two"]


def test_a_path_that_is_no_text(repository: Repository) -> None:
    name = os.fsdecode(b"\xff.yaml")
    repository.commit("one", name)
    assert repository.contents(name) == ["one"]


def test_links_and_folders_are_no_contents(repository: Repository) -> None:
    repository.commit("one")
    (repository.folder / PATH).unlink()
    (repository.folder / PATH).symlink_to("elsewhere.yaml")
    repository.done()
    assert repository.contents() == ["one"]
    assert repository.history.of("missing/folder").versions == ()


def test_the_user_s_settings_change_nothing(repository: Repository) -> None:
    repository.commit("one")
    repository.commit("two")
    for name, value in {
        "log.follow": "true",
        "log.showRoot": "false",
        "log.diffMerges": "off",
        "diff.renames": "copies",
        "format.pretty": "oneline",
        "diff.noprefix": "true",
        "color.ui": "always",
        "core.quotePath": "true",
    }.items():
        repository.git("config", name, value)
    assert repository.contents() == ["one", "two"]


def test_what_files_share_is_read_once(repository: Repository) -> None:
    history = repository.history
    repository.commit("one")
    repository.commit("one", "copy.yaml")
    first, second = history.of(PATH), history.of("copy.yaml")
    assert first.versions[0].content is second.versions[0].content


# -- what is not there


def cloned(repository: Repository, *options: str) -> GitHistory:
    folder = repository.folder.parent / "clone"
    git("clone", "--quiet", *options, f"file://{repository.folder}", folder)
    return GitHistory(Checkout(str(folder), PERSON))


def test_a_shallow_checkout_says_so(repository: Repository) -> None:
    for text in ("one", "two", "three"):
        repository.commit(text)
    repository.commit("beside", "other.yaml")
    found = cloned(repository, "--depth=1").of(PATH)
    assert str(found.missing).startswith("the checkout is shallow: set `fetch-depth: 0`")
    assert [past.content for past in found.versions] == [b"three"]
    assert found.versions[0].date == "", "who knows since when"


def test_a_deeper_one_tells_what_it_has(repository: Repository) -> None:
    for text in ("one", "two", "three"):
        repository.commit(text)
    found = cloned(repository, "--depth=2").of(PATH)
    assert [(past.content, past.date) for past in found.versions] == [(b"two", ""), (b"three", "2025-01-03T10:00:00Z")]
    assert found.missing
    assert not found.has_gaps


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_nothing_and_says_so(repository: Repository, kind: str) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    for text in ("one", "two"):
        repository.commit(text)
    found = cloned(repository, f"--filter={kind}").of(PATH)
    assert "partial clone" in str(found.missing)
    assert found.has_gaps == bool(found.versions)
    assert [past.content for past in found.versions] == ([b"two"] if kind == "blob:none" else [])


def test_a_sparse_checkout_is_whole(repository: Repository) -> None:
    repository.commit("one")
    repository.commit("two")
    repository.git("sparse-checkout", "set", "elsewhere")
    assert not (repository.folder / PATH).exists()
    assert repository.contents() == ["one", "two"]


def test_without_a_repository(tmp_path: Path) -> None:
    found = GitHistory(Checkout(str(tmp_path), PERSON)).of(PATH)
    assert found == FileRevisions(missing=Unknown("it is not in a Git checkout, or has no commit yet"))


def test_without_git(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    found = GitHistory(Checkout(str(repository.folder), {"PATH": str(tmp_path)})).of(PATH)
    assert found.versions == ()
    assert "git is not on PATH" in str(found.missing)


def test_so_many_contents_that_not_all_are_read(repository: Repository) -> None:
    repository.day = 1
    for number in range(203):
        (repository.folder / "file.yaml").write_text(f"{number}")
        repository.git("add", "file.yaml")
        repository.git("commit", "--quiet", "-m", "Change")
    found = repository.history.of("file.yaml")
    assert [past.content for past in found.versions] == [b"%d" % number for number in range(3, 203)]
    assert found.missing == Unknown("only its last 200 of 203 versions were checked")


# -- uses of API versions

BETA, GA = "helm.toolkit.fluxcd.io/v2beta1", "helm.toolkit.fluxcd.io/v2"
APP = "apps/app.yaml"


def test_which_manifests_named_a_version(repository: Repository) -> None:
    repository.commit(f"apiVersion: {BETA}\nkind: HelmRelease\n", APP)
    repository.commit(f"apiVersion: {GA}\nkind: HelmRelease\n", APP)
    repository.commit(f'{{"apiVersion":"{BETA}"}}', "apps/ä b.json")
    repository.commit(f'apiVersion:   "{BETA}"', "old.yml")
    (repository.folder / "old.yml").unlink()
    repository.done()
    repository.commit(f"apiVersion: {BETA}", "README.md")
    repository.commit(f"# removes {BETA}", "notes.yaml")
    repository.commit(f"apiVersion: {BETA}")
    repository.commit("apiVersion: helmXtoolkit.fluxcd.io/v2beta1", "other.yaml")
    history = repository.history
    assert history.mentions([BETA]) == Mentions((APP, "apps/ä b.json", "old.yml"))
    assert history.mentions(["source.toolkit.fluxcd.io/v1beta1"]) == Mentions()
    assert history.mentions(["source.toolkit.fluxcd.io/v1beta1", BETA]).paths[0] == APP


def test_what_a_merged_branch_named_and_took_back_counts(repository: Repository) -> None:
    repository.commit("one", APP)
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit(f"apiVersion: {BETA}", APP)
    repository.commit("one", APP)
    repository.git("checkout", "--quiet", "main")
    repository.merge("feature")
    assert repository.history.mentions([BETA]) == Mentions((APP,))


def test_only_a_whole_history_rules_a_use_out(repository: Repository, tmp_path: Path) -> None:
    repository.commit(f"apiVersion: {BETA}", APP)
    repository.commit(f"apiVersion: {GA}", APP)
    shallow = cloned(repository, "--depth=1").mentions([BETA])
    assert shallow.paths == ()
    assert "fetch-depth: 0" in str(shallow.missing)
    nowhere = GitHistory(Checkout(str(tmp_path), PERSON)).mentions([BETA])
    assert nowhere == Mentions(missing=Unknown("it is not in a Git checkout, or has no commit yet"))


def test_contents_that_are_not_there_are_not_fetched(repository: Repository) -> None:
    repository.commit(f"apiVersion: {BETA}", APP)
    repository.git("config", "uploadpack.allowFilter", "true")
    assert "partial clone" in str(cloned(repository, "--filter=blob:none").mentions([BETA]).missing)


def test_a_search_is_bounded(repository: Repository) -> None:
    repository.commit(f"apiVersion: {BETA}", APP)
    repository.commit(f"apiVersion: {GA}", APP)
    repository.day += 1
    text = "".join(
        f"commit refs/heads/main\ncommitter a <a@example.com> {1_800_000_000 + n} +0000\ndata 1\nx\n"
        + ("from refs/heads/main^0\n" if not n else "")
        for n in range(10_001)
    )
    file = repository.folder / ".git" / "import"
    file.write_text(text)
    with file.open("rb") as stream:
        Checkout(str(repository.folder), PERSON).run("fast-import", "--quiet", stdin=stream)
    found = repository.history.mentions([BETA])
    assert found == Mentions(missing=Unknown("only the last 10000 commits were searched"))
