"""`check` finds what a target does not serve in any tree, and says what it could not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from api_use_runs import CLUSTER, Ran, cluster, left, one_processor, plant, resource, run
from error_names import error_names

ACTIONS = {"GITHUB_ACTIONS": "true"}
FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  path: {path}
  sourceRef:
    kind: GitRepository
    name: flux-system
"""


@pytest.fixture
def source(written_source: Path) -> Path:
    return written_source


def lines(ran: Ran) -> list[str]:
    """Those of uses."""
    return [line.partition(" is not served")[0] for line in ran.out.splitlines() if " is not served" in line]


POD = "apiVersion: v1\nkind: Pod\n"


def test_a_tree_without_flux_passes(tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, {"a.yaml": POD}), source, "check")
    assert (ran.code, ran.err) == (0, "")
    looked_at = "looked at 1 manifest in 1 file: none uses Flux's APIs\n"
    assert ran.out == f"{looked_at}nothing uses an API version that v2.9.4 does not serve\n"


def test_a_tree_without_manifests_does_not_pass(tmp_path: Path, source: Path) -> None:
    for command in ("check", "migrate"):
        ran = run(plant(tmp_path, {"a.yaml": "a: b\n", "b.md": resource("v1")}), source, command)
        assert (ran.code, ran.out) == (6, "no Kubernetes manifest was looked at\n")
        assert "[nothing-found]" in ran.err


def test_what_is_not_read_is_counted_by_its_text_and_does_not_pass(tmp_path: Path, source: Path) -> None:
    rest = "".join(f"---\n{resource(name=f'n{index}')}" for index in range(120))
    plant(tmp_path, {"a.yaml": f"---\n{POD}" * 2_000 + rest, "b.yaml": resource("v1")})
    ran = run(tmp_path, source, "check")
    assert ran.code == 3
    assert "a.yaml is not read to its end: line 5998: more than 2,000 documents in one file" in ran.err
    assert ran.out.splitlines() == [
        "looked at 2000 manifests in 2 files",
        "nothing that was checked uses an API version that v2.9.4 does not serve",
        "also 120 uses in the text of 1 file not read to the end",
        "not checked: changes of behavior, because no release was found that the clusters run: set it with --from",
    ]
    report = run(tmp_path, source, "check", "--json").value
    assert [(each["path"], each["uses"]) for each in report["failures"]] == [("a.yaml", 120)]
    assert (report["uses"], report["counts"]["by-text"]) == ([], 120)


def test_uses_after_the_first_documents_are_not_lost(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a.yaml": "---\n".join(resource(name=f"n{index}") for index in range(3_200))})
    ran = run(tmp_path, source, "check", "--json")
    counts = ran.value["counts"]
    assert (ran.code, counts["moves"], counts["by-hand"], counts["by-text"]) == (7, 2_000, 0, 1_200)


@pytest.mark.parametrize(("name", "code"), [("a.yaml", 3), ("a.json", 3), ("a.md", 0)])
def test_a_file_that_is_too_large(name: str, code: int, tmp_path: Path, source: Path) -> None:
    large = f"{resource()}---\n" + f"# {'x' * 1_000}\n" * 34_000
    plant(tmp_path, {name: f"{large}---\n{resource('v1')}---\n{resource()}", "b.yaml": POD})
    ran = run(tmp_path, source, "check", "--json")
    assert ran.code == code
    assert ran.value["counts"]["by-text"] == (2 if code else 0)
    assert ("it is too large. The rest names 2 API versions" in ran.err) is bool(code)


def test_a_large_file_without_flux_is_known_well_enough(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a.yaml": f"# {'x' * 1_000}\n" * 34_000, "b.yaml": POD})
    assert run(tmp_path, source, "check").code == 0


HELMFILE = """\
repositories:
- {name: cp, url: ghcr.io/controlplaneio-fluxcd/charts, oci: true}
releases:
- name: flux
  namespace: flux-system
  chart: cp/flux-instance
  values:
  - values/{{ .Environment.Name }}.yaml
"""


@pytest.mark.parametrize(("count", "code"), [(100, 0), (101, 3)])
def test_a_release_that_too_many_files_may_set(count: int, code: int, tmp_path: Path, source: Path) -> None:
    values = "instance:\n  distribution:\n    version: 2.8.8\n"
    files = {f"values/e{index}.yaml": values for index in range(count)}
    ran = run(plant(tmp_path, {**files, "helmfile.yaml": HELMFILE, "a.yaml": POD}), source, "check")
    assert ran.code == code
    assert ("helmfile.yaml:4: the release of this flux-instance is unknown" in ran.err) is bool(code)
    assert ("which are too many to read" in ran.err) is bool(code)


def test_texts_alone_pass(tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, {"a.md": f"# Sources\n\n{resource()}", "b.yaml": POD}), source, "check")
    assert (ran.code, ran.err) == (0, "")
    assert lines(ran) == ["a.md:3: GitRepository/podinfo: source.toolkit.fluxcd.io/v1beta2"]
    assert "1 mention in text" in ran.out


def test_the_target_is_the_newest_stable_release_or_the_one_that_is_given(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a.yaml": resource()})
    assert run(tmp_path, source, "check").code == 7
    assert run(tmp_path, source, "check", "--to=2.8.8").code == 0


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["--to=v2.9.9"], 4, "release-not-found"),
        (["--to=latest"], 4, "release-not-found"),
        (["--from=v1.2.3"], 4, "release-not-found"),
        (["no/such/folder"], 2, "no/such/folder"),
        (["oci://registry.example.com/flux:latest"], 2, "oci://registry.example.com/flux:latest"),
        (["--include=!"], 2, "include"),
        (["--frm=v2.8.8"], 2, "did you mean '--from'?"),
        (["--form=json"], 2, "did you mean '--format'?"),
    ],
)
def test_bad_input(argv: list[str], code: int, message: str, tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, {"a.yaml": resource()}), source, "check", *argv)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 2


def test_what_clusters_run_is_found(tmp_path: Path, source: Path) -> None:
    files = {
        CLUSTER: cluster("v2.8.8"),
        "clusters/staging/flux-system/gotk-components.yaml": cluster("v2.7.1"),
        ".github/workflows/validate.yaml": "jobs:\n  a:\n    steps:\n    - uses: fluxcd/flux2/action@main\n"
        "      with:\n        version: 2.6.4\n",
        "apps/a.yaml": resource(),
    }
    ran = run(plant(tmp_path, files), source, "check", "--json")
    assert ran.value["running"] == ["v2.7.1", "v2.8.8"], "what people use is no cluster"
    plant(tmp_path, {".github/flux-upgrade.yaml": "ignore: [clusters/staging/]\n"})
    running = run(tmp_path, source, "check", "--json").value["running"]
    assert running == ["v2.7.1", "v2.8.8"], "one that is left alone runs all the same"
    ran = run(tmp_path, source, "check", "--json", "--from=2.6.4", "--from=v2.9.3")
    assert ran.value["running"] == ["v2.6.4", "v2.9.3"]


def test_a_release_that_the_source_does_not_have_is_left_out_and_said(tmp_path: Path, source: Path) -> None:
    base = "https://github.com/fluxcd/flux2/releases/download/v2.4.0/install.yaml"
    files = {"flux/kustomization.yaml": f"resources:\n- {base}\n", "a.yaml": resource()}
    ran = run(plant(tmp_path, files), source, "check")
    assert ran.code == 7
    assert "a cluster here runs v2.4.0, which the release source does not have" in ran.out
    assert run(tmp_path, source, "check", "--json").value["unknown"] == ["v2.4.0"]


def test_a_part_of_a_repository_is_checked_for_its_clusters(tmp_path: Path, source: Path) -> None:
    files = {".git/HEAD": "ref: refs/heads/main\n", CLUSTER: cluster(), "a.yaml": resource()}
    plant(tmp_path, files | {"apps/web/b.yaml": resource(name="b")})
    ran = run(tmp_path, source, "check", "apps/web")
    assert lines(ran) == ["apps/web/b.yaml:1: GitRepository/b: source.toolkit.fluxcd.io/v1beta2"]
    assert "clusters run v2.8.8 (found in this repository)" in ran.out
    ran = run(tmp_path / "apps", source, "check", "web")
    assert lines(ran) == ["web/b.yaml:1: GitRepository/b: source.toolkit.fluxcd.io/v1beta2"]
    ran = run(tmp_path / "apps", source, "check", "web", "--json")
    assert [use["path"] for use in ran.value["uses"]] == ["apps/web/b.yaml"], "as the repository has it"
    ran = run(tmp_path / "apps", source, "check", "web", env=ACTIONS)
    assert ",file=apps/web/b.yaml,line=1::" in ran.annotations[0]


def test_a_file_that_is_named_is_checked_whatever_it_is(tmp_path: Path, source: Path) -> None:
    files = {".github/flux-upgrade.yaml": "ignore: ['*']\n", "a.odd": resource(), "b.yaml": resource()}
    plant(tmp_path, files | {".git/HEAD": ""})
    assert lines(run(tmp_path, source, "check")) == []
    assert lines(run(tmp_path, source, "check", "b.yaml")) == [
        "b.yaml:1: GitRepository/podinfo: source.toolkit.fluxcd.io/v1beta2"
    ]
    assert lines(run(tmp_path, source, "check", "a.odd")) == [
        "a.odd:1: GitRepository/podinfo: source.toolkit.fluxcd.io/v1beta2"
    ]


def test_patterns_narrow_the_search(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {f"{name}/x.yaml": resource(name=name) for name in "abc"} | {".git/HEAD": ""})
    plant(tmp_path, {".github/flux-upgrade.yaml": "include: ['a/', 'b/']\nignore: ['b/']\n"})

    def checked(*argv: str) -> list[str]:
        return [line[0] for line in lines(run(tmp_path, source, "check", *argv))]

    assert checked() == ["a"]
    assert checked("--include=*", "--include=!a/") == ["c"], "what is ignored is left alone"


def test_what_is_left_alone_is_said(tmp_path: Path, source: Path) -> None:
    files = {f"vendor/{at}.yaml": resource(name=f"n{at}") for at in range(3)}
    files |= {"vendor/served.yaml": resource("v1"), "vendor/other.yaml": "a: b\n", "a.yaml": resource()}
    plant(tmp_path, files | {".git/HEAD": "", ".github/flux-upgrade.yaml": "ignore: ['vendor/']\n"})
    ran = run(tmp_path, source, "check")
    assert len(lines(ran)) == 1
    assert "3 files with Flux's APIs skipped (`ignore` in the config file)\n" in ran.out
    assert run(tmp_path, source, "check", "--json").value["ignored"] == 3
    # What was not to be searched, or is named itself, is not left alone by that key.
    assert "left alone" not in run(tmp_path, source, "check", "--include=a.yaml").out
    assert "left alone" not in run(tmp_path, source, "check", "vendor/1.yaml").out
    ran = run(tmp_path, source, "migrate", "--include=vendor/1.yaml")
    assert ran.code == 6
    assert "remove what excludes the manifests from `ignore`" in ran.err
    assert ran.out.endswith("1 file with Flux's APIs skipped (`ignore` in the config file)\n")
    assert (tmp_path / "vendor/1.yaml").read_text() == files["vendor/1.yaml"]


def test_what_is_broken_today_does_not_pass_either(tmp_path: Path, source: Path) -> None:
    """A new manifest with a version that went long ago is what a gate is for."""
    plant(tmp_path, {CLUSTER: cluster(), "a.yaml": left(), "b.yaml": resource("v1beta1")})
    ran = run(tmp_path, source, "check", "--json")
    assert ran.code == 7
    assert [(each["breaks"], each["path"]) for each in ran.value["uses"]] == [(True, "a.yaml"), (True, "b.yaml")]


def test_a_manifest_that_cannot_be_read_fails_the_check(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a.yaml": resource()})
    os.mkfifo(tmp_path / "gotk-components.yaml")
    ran = run(tmp_path, source, "check")
    assert ran.code == 7, "it precedes that of the manifest"
    assert error_names(ran.err) == {"unreadable", "api-removed"}
    assert "flux-upgrade: gotk-components.yaml could not be read" in ran.err
    assert "flux-upgrade: 1 use" in ran.err
    assert lines(ran), "all the rest was checked"
    ran = run(tmp_path, source, "check", "--json")
    assert [each["path"] for each in ran.value["failures"]] == ["gotk-components.yaml"]


def test_a_name_steers_no_terminal(tmp_path: Path, source: Path) -> None:
    plant(tmp_path, {"a\x1b[31m.yaml": resource(name='"\\e[32m"')})
    ran = run(tmp_path, source, "check")
    assert ran.code == 7
    assert "\x1b" not in ran.out + ran.err


def test_a_path_that_is_no_text(tmp_path: Path, source: Path) -> None:
    (tmp_path / "a\udcff.yaml").write_text(resource())
    assert run(tmp_path, source, "check").code == 7
    assert run(tmp_path, source, "check", "--json").value["uses"][0]["path"] == "a\udcff.yaml"
    assert run(tmp_path, source, "check", env=ACTIONS).code == 7


class TestInGitHubActions:
    def test_each_finding_is_annotated_on_its_line(self, tmp_path: Path, source: Path) -> None:
        files = {"a,b:c.yaml": f"# 100 %\n{resource()}", "b.yaml": left(), "c.md": resource()}
        ran = run(plant(tmp_path, files), source, "check", env=ACTIONS)
        title = "title=v2.9.4 does not serve source.toolkit.fluxcd.io"
        moved, stays = ran.annotations
        assert moved == (
            f"::error {title}/v1beta2,file=a%2Cb%3Ac.yaml,line=2::GitRepository/podinfo: "
            "source.toolkit.fluxcd.io/v1beta2 is not served by v2.9.4: `flux-upgrade migrate` changes it to v1"
        )
        assert stays.startswith(f"::error {title}/v1beta2,file=b.yaml,line=1::GitRepo/misspelled: ")

    def test_no_more_than_github_shows(self, tmp_path: Path, source: Path) -> None:
        files = {f"{number}.yaml": resource(name=f"n{number}") for number in range(10, 23)}
        ran = run(plant(tmp_path, files), source, "check", env=ACTIONS)
        assert [line[: line.index(" ")] for line in ran.annotations[:10]] == ["::error"] * 10
        assert ran.annotations[10:] == ["::warning::3 more uses: see the log of this step"]

    def test_nothing_is_annotated_elsewhere_or_where_nothing_breaks(self, tmp_path: Path, source: Path) -> None:
        plant(tmp_path, {"a.yaml": resource()})
        assert not run(tmp_path, source, "check").annotations
        assert not run(tmp_path, source, "check", env={"GITHUB_ACTIONS": "false"}).annotations
        assert not run(tmp_path, source, "check", "--to=v2.8.8", env=ACTIONS).annotations

    def test_names_in_the_report_command_nothing(self, tmp_path: Path, source: Path) -> None:
        plant(tmp_path, {"::error::a.yaml": resource()})
        ran = run(tmp_path, source, "check", env=ACTIONS)
        first, *inside, last = ran.out.splitlines()
        token = first.removeprefix("::stop-commands::")
        assert last == f"::{token}::"
        assert any(line.startswith("::error::a.yaml:1:") for line in inside)
        (annotation,) = ran.annotations
        assert ",file=%3A%3Aerror%3A%3Aa.yaml,line=1::" in annotation

    def test_json_stays_json(self, tmp_path: Path, source: Path) -> None:
        plant(tmp_path, {"a.yaml": resource()})
        ran = run(tmp_path, source, "check", "--json", env=ACTIONS)
        assert ran.value["counts"]["breaking"] == len(ran.annotations) == 1


def test_a_large_tree_is_the_same_for_one_processor_as_for_all(tmp_path: Path, source: Path) -> None:
    files = {f"{at % 7}/{at}.yaml": resource("v1beta2" if at % 10 == 0 else "v1") for at in range(1100)}
    files |= {f"{at % 7}/{at}.yaml": left() for at in range(1100, 1110)}
    plant(tmp_path, files)
    ran = run(tmp_path, source, "check", "--json")
    with one_processor():
        assert run(tmp_path, source, "check", "--json") == ran
    assert (ran.code, len(ran.value["uses"])) == (7, 120)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [" + "x," * 300 + "]\nb: [" + "*a ," * 300 + "]\n", "line 6: aliases that expand to too much"),
        ("a: [" + "x," * 150_000 + "]\n", "line 5: more than 50,000 values in one document"),
        ("---\na: b\n" * 5000, ""),
    ],
    ids=["aliases", "values", "documents"],
)
def test_a_file_beyond_its_budget_is_reported_and_the_others_are_read(
    text: str, message: str, tmp_path: Path, source: Path
) -> None:
    ran = run(plant(tmp_path, {"a.yaml": resource() + text, "b.yaml": resource()}), source, "check")
    assert ran.code == 7
    assert [line.partition(":")[0] for line in lines(ran)] == ["a.yaml", "b.yaml"]
    assert message in ran.out


def test_of_too_many_uses_the_first_are_reported(tmp_path: Path, source: Path) -> None:
    text = resource() + "".join(f"k{at}: source.toolkit.fluxcd.io/v1beta2\n" for at in range(3000))
    ran = run(plant(tmp_path, {"a.yaml": text, "b.yaml": resource()}), source, "check")
    assert (ran.code, len(lines(ran))) == (7, 2502)
    assert "The file names more than 2,500 API versions" in ran.out
    assert lines(ran)[-1].startswith("b.yaml:1:")


def test_of_a_document_that_cannot_be_read_a_hundred_uses_are_reported(tmp_path: Path, source: Path) -> None:
    text = "a: {\n" + "apiVersion: source.toolkit.fluxcd.io/v1beta2\n" * 300
    ran = run(plant(tmp_path, {"a.yaml": text, "b.yaml": resource()}), source, "check")
    assert [line.partition(":")[0] for line in lines(ran)] == ["a.yaml"] * 101 + ["b.yaml"]


def test_no_use_hides_behind_a_hundred_comments_of_a_document_that_cannot_be_read(tmp_path: Path, source: Path) -> None:
    text = "a: b\na: b\n" + "# source.toolkit.fluxcd.io/v1beta2\n" * 200 + resource()
    assert run(plant(tmp_path, {"a.yaml": text}), source, "check").code == 7


def test_of_too_many_documents_the_rest_is_reported(tmp_path: Path, source: Path) -> None:
    ran = run(plant(tmp_path, {"a.yaml": "---\na: b\n" * 5000 + "---\n" + resource()}), source, "check")
    assert ran.code == 3
    assert "line 3999: more than 2,000 documents in one file. The rest names 1 API version that" in ran.err


@pytest.mark.parametrize(("env", "code"), [({}, 3), ({"GITHUB_WORKSPACE": "."}, 7)])
def test_what_a_cluster_reads_elsewhere_is_looked_for_in_the_directory_of_the_runner(
    env: dict[str, str], code: int, tmp_path: Path, source: Path
) -> None:
    sync = FLUX.format(name="flux-system", path="./clusters/production")
    files = {
        CLUSTER: cluster(),
        f"{Path(CLUSTER).parent}/gotk-sync.yaml": sync,
        "clusters/production/apps.yaml": FLUX.format(name="apps", path="./apps"),
        "apps/a.yaml": resource(),
    }
    ran = run(plant(tmp_path, files), source, "check", "clusters/production", env=env)
    assert ran.code == code
    assert ("[not-looked-at]" in ran.err) is (code == 3)
    assert bool(lines(ran)) is (code == 7)
