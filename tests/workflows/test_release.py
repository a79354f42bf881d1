"""The scripts of the release workflow refuse what must not be released; ``gh`` is a program of the test."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from adapters.registries import own_certificate, running_registry
from flux_upgrade import __version__
from real_parts import require_program
from workflows.linters import ROOT

DIGEST = f"sha256:{'0123456789abcdef' * 4}"
IMAGE = f"ghcr.io/octo-org/flux-upgrade:v1.2.3@{DIGEST}"
# It writes down its arguments, and knows of the tags and of the release what the files `tags` and `release` say.
GH = """\
#!/usr/bin/env python3
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
read = lambda name: (here / name).read_text() if (here / name).exists() else ""
new = [each.rpartition("/")[2] for each in sys.argv if each.startswith("ref=")]
if sys.argv[1:3] == ["release", "view"]:
    sys.exit(print(read("release")) if read("release") else 1)
if "/git/ref/tags/" in sys.argv[2] or (new and "PATCH" not in sys.argv):
    is_there = (new or sys.argv[2].split("/"))[-1] in read("tags").split()
    sys.exit(1 if bool(new) == is_there else print("tagged-oid"))
print(read("action") or sys.argv[2].rpartition("/")[2] + "-oid")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the scripts read."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / ".github" / "scripts", tree / ".github" / "scripts")
    shutil.copy(ROOT / "action.yml", tree)
    (tree / "src" / "flux_upgrade").mkdir(parents=True)
    (tree / "src" / "flux_upgrade" / "__init__.py").write_text('"""Doc."""\n\n__version__ = "1.2.3"\n')
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n- News.\n\n## 1.2.2\n\n- Old.\n")
    return tree


def run(tree: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    programs = tree.parent / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    return subprocess.run(  # noqa: S603 the script that is tested
        [tree / ".github" / "scripts" / script, *arguments],
        env={
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "GITHUB_REPOSITORY": "Octo-Org/flux-upgrade",
            "GITHUB_SHA": "head-oid",
        },
        cwd=tree.parent,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def calls(tree: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tree.parent / "bin" / "calls").read_text().splitlines()]


def git(tree: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    subprocess.run(["git", *identity, "-C", tree, *arguments], check=True, capture_output=True)  # noqa: S603, S607 git


_OCI = "application/vnd.oci.image"
JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yaml").read_text())["jobs"]


def rights(name: str) -> list[str]:
    """The write permissions of a job."""
    return sorted(key for key, level in JOBS[name].get("permissions", {}).items() if level == "write")


def actions(name: str) -> list[str]:
    """The actions that a job uses, without their commits."""
    return [each["uses"].partition("@")[0] for each in JOBS[name].get("steps", ()) if "uses" in each]


def scripts(name: str) -> str:
    return "\n".join(each.get("run", "") for each in JOBS[name].get("steps", ()))


def test_who_publishes_runs_nothing_that_was_installed() -> None:
    assert {name: rights(name) for name in JOBS if rights(name)} == {
        "image": ["attestations", "id-token", "packages"],
        "package": ["attestations", "id-token"],
        "pypi": ["id-token"],
        "tag": ["contents"],
        "examples": ["contents", "pull-requests"],
    }
    for name in ("image", "pypi", "tag"):
        assert JOBS[name]["environment"] in ("release", "pypi"), name
    # The image and the package are there before the tag, and the tag before an example names it.
    assert {"version", "image", "pypi"} <= set(JOBS["tag"]["needs"])
    assert set(JOBS["examples"]["needs"]) == {"version", "tag"}


def test_what_builds_has_no_rights() -> None:
    installs = {"docker/build-push-action", "docker/setup-buildx-action", "docker/setup-qemu-action"}
    building = [name for name in JOBS if installs & {*actions(name)} or "pip install" in scripts(name)]
    assert building == ["build-image", "build-package"]
    for name in building:
        assert JOBS[name]["permissions"] == {"contents": "read"}
        assert "environment" not in JOBS[name]
        assert "secrets" not in str(JOBS[name])
        assert "github.token" not in str(JOBS[name])
        assert "push: true" not in yaml.safe_dump(JOBS[name])


def test_what_signs_only_downloads() -> None:
    signing = [name for name in JOBS if "id-token" in rights(name)]
    assert signing == ["image", "package", "pypi"]
    allowed = {"actions/download-artifact", "actions/attest", "docker/login-action", "pypa/gh-action-pypi-publish"}
    for name in signing:
        assert actions(name)[0] == "actions/download-artifact"
        assert set(actions(name)) <= allowed
        # Programs of the runner. What was downloaded is not run.
        commands = {line.split()[0] for line in scripts(name).splitlines() if line}
        assert commands <= {"skopeo", "echo", "rm"}


@pytest.mark.parametrize("name", ["image", "package", "pypi", "tag"])
def test_a_download_is_the_artifact_of_the_job_that_built_it(name: str) -> None:
    (download,) = (each for each in JOBS[name]["steps"] if "download-artifact" in each.get("uses", ""))
    builder = "build-image" if name == "image" else "build-package"
    assert download["with"]["artifact-ids"] == f"${{{{ needs.{builder}.outputs.artifact }}}}"
    assert builder in JOBS[name]["needs"]
    assert JOBS[builder]["outputs"]["artifact"] == "${{ steps.upload.outputs.artifact-id }}"


def test_each_image_that_the_build_runs_has_a_digest() -> None:
    given = {each["uses"].partition("@")[0]: each.get("with", {}) for each in JOBS["build-image"]["steps"]}
    images = [
        given["docker/setup-qemu-action"]["image"],
        given["docker/setup-buildx-action"]["driver-opts"].removeprefix("image="),
        given["docker/build-push-action"]["sbom"].removeprefix("generator="),
    ]
    assert [each for each in images if not re.fullmatch(r"docker\.io/[a-z/-]+:[\w.]+@sha256:[0-9a-f]{64}", each)] == []


def oci_archive(folder: Path) -> str:
    """An archive as BuildKit writes it, with an image for a platform and its attestation. Returns its digest."""
    blobs: dict[str, bytes] = {}

    def blob(content: bytes, media_type: str, **more: Any) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content), **more}

    def manifest(config: dict[str, Any], layer: dict[str, Any], **more: Any) -> dict[str, Any]:
        value = {"schemaVersion": 2, "mediaType": f"{_OCI}.manifest.v1+json", "config": config, "layers": [layer]}
        return blob(json.dumps(value).encode(), f"{_OCI}.manifest.v1+json", **more)

    config = blob(
        b'{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}', f"{_OCI}.config.v1+json"
    )
    layer = blob(gzip.compress(b"layer", mtime=0), f"{_OCI}.layer.v1.tar+gzip")
    image = manifest(config, layer, platform={"architecture": "amd64", "os": "linux"})
    unknown = blob(b'{"architecture":"unknown","os":"unknown"}', f"{_OCI}.config.v1+json")
    statement = blob(b'{"predicate":{}}', "application/vnd.in-toto+json")
    about = {"vnd.docker.reference.digest": image["digest"], "vnd.docker.reference.type": "attestation-manifest"}
    nowhere = {"architecture": "unknown", "os": "unknown"}
    attestation = manifest(unknown, statement, platform=nowhere, annotations=about)
    index = {"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json", "manifests": [image, attestation]}
    whole = blob(json.dumps(index).encode(), f"{_OCI}.index.v1+json")
    top = {"schemaVersion": 2, "manifests": [whole]}
    files = {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": json.dumps(top).encode(),
        **{f"blobs/sha256/{digest}": content for digest, content in blobs.items()},
    }
    with tarfile.open(folder / "image.tar", "w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return str(whole["digest"])


def test_the_image_is_pushed_with_the_digest_of_the_build(tmp_path: Path) -> None:
    require_program("skopeo")
    (tmp_path / "image").mkdir()
    digest = oci_archive(tmp_path / "image")
    (step,) = (each for each in JOBS["image"]["steps"] if each.get("id") == "push")
    certificate, key = own_certificate(tmp_path)
    with running_registry(tmp_path, in_memory=True, tls=(certificate, key)) as url:
        image = f"{url.removeprefix('https://')}/octo-org/flux-upgrade"
        done = subprocess.run(  # noqa: S603 the step of the workflow
            ["/bin/bash", "-e", "-c", step["run"]],
            cwd=tmp_path,
            env={
                "PATH": os.defpath,
                "GITHUB_ACTOR": "octocat",
                "GITHUB_OUTPUT": str(tmp_path / "output"),
                "TOKEN": "secret",
                "IMAGE": f"{image}:v1.2.3",
                "REGISTRY_AUTH_FILE": str(tmp_path / "auth.json"),
                "SSL_CERT_FILE": str(certificate),
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "output").read_text() == f"digest={digest}\n"
        pushed = requests.get(
            f"{url}/v2/octo-org/flux-upgrade/manifests/{digest}",
            headers={"Accept": f"{_OCI}.index.v1+json"},
            timeout=5,
            verify=str(certificate),
        )
        assert len(pushed.json()["manifests"]) == 2


def test_the_version_of_this_repository_is_three_numbers() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_the_version_comes_from_the_source_and_the_image_is_lower_case(tree: Path) -> None:
    git(tree, "init", "--quiet")
    ran = run(tree, "release-version")
    assert ran.stdout == "version=v1.2.3\nimage=ghcr.io/octo-org/flux-upgrade\n", ran.stderr


@pytest.mark.parametrize(
    ("source", "changelog", "tag", "message"),
    [
        ('__version__ = "1.2.3.dev1"\n', "## 1.2.3\n", "", "no version that can be released"),
        ("", "## 1.2.3\n", "", "no version that can be released"),
        ('__version__ = "1.2.3"\n', "## Unreleased\n", "", "no section '## 1.2.3'"),
        ('__version__ = "1.2.3"\n', "## 1.2.3\n", "v1.2.3", "v1.2.3 is released already"),
    ],
)
def test_what_cannot_be_released_is_refused(tree: Path, source: str, changelog: str, tag: str, message: str) -> None:
    (tree / "src" / "flux_upgrade" / "__init__.py").write_text(source)
    (tree / "CHANGELOG.md").write_text(changelog)
    git(tree, "init", "--quiet")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "x")
    if tag:
        git(tree, "tag", tag)
    refused = run(tree, "release-version")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert message in refused.stderr


def release(tree: Path, *, tags: str = "", is_draft: str = "", action: str = "") -> list[list[str]]:
    """What ``release-tag`` wrote and deleted, of a repository with these tags and this release."""
    programs = tree.parent / "bin"
    programs.mkdir(exist_ok=True)
    for name, content in (("tags", tags), ("release", is_draft), ("action", action)):
        (programs / name).write_text(content)
    done = run(tree, "release-tag", "v1.2.3", IMAGE, "a.whl", "b.json")
    assert done.returncode == 0, done.stderr
    read = ("/git/ref/", "/contents/", "view")
    return [call for call in calls(tree) if not any(each in call[1] for each in read)]


def test_the_tag_has_an_action_that_runs_the_image_by_digest(tree: Path) -> None:
    blob, made_tree, commit, version, draft, publish, major = release(tree)
    (content,) = (each.removeprefix("content=") for each in blob if each.startswith("content="))
    before, after = yaml.safe_load((tree / "action.yml").read_text()), yaml.safe_load(content)
    assert after["runs"].pop("image") == f"docker://{IMAGE}"
    assert before["runs"].pop("image") == "Dockerfile"
    assert after == before
    assert content.endswith("- action\n")
    assert {"base_tree=head-oid", "tree[][path]=action.yml", "tree[][sha]=blobs-oid"} <= set(made_tree)
    assert {"tree=trees-oid", "parents[]=head-oid", "message=Release v1.2.3"} <= set(commit)
    assert {"ref=refs/tags/v1.2.3", "sha=commits-oid"} <= set(version)
    # The files are there before the release is published: afterwards nothing can be added.
    assert draft[:5] == ["release", "create", "v1.2.3", "a.whl", "b.json"]
    assert "--draft" in draft
    assert draft[-1].strip() == "- News."
    assert publish[:3] == ["release", "edit", "v1.2.3"]
    assert publish[-1] == "--draft=false"
    assert {"ref=refs/tags/v1", "sha=commits-oid"} <= set(major)


def test_the_major_tag_moves(tree: Path) -> None:
    moved = release(tree, tags="v1")[-1]
    assert "repos/Octo-Org/flux-upgrade/git/refs/tags/v1" in moved
    assert {"PATCH", "sha=commits-oid", "force=true"} <= set(moved)


ACTION = f"runs:\n  image: docker://{IMAGE}\n"


@pytest.mark.parametrize(
    ("is_draft", "expected"),
    [
        pytest.param("", ["create", "edit"], id="none"),
        pytest.param("true", ["delete", "create", "edit"], id="draft"),
        pytest.param("false", [], id="published"),
    ],
)
def test_what_was_broken_off_goes_on_with_the_tag_that_there_is(tree: Path, is_draft: str, expected: list[str]) -> None:
    *of_release, new, moved = release(tree, tags="v1.2.3 v1", is_draft=is_draft, action=ACTION)
    assert [call[:2] for call in of_release] == [["release", each] for each in expected]
    assert "ref=refs/tags/v1" in new
    assert {"PATCH", "sha=tagged-oid"} <= set(moved)


def test_a_tag_of_another_image_is_not_released(tree: Path) -> None:
    programs = tree.parent / "bin"
    programs.mkdir()
    (programs / "tags").write_text("v1.2.3")
    (programs / "action").write_text(ACTION.replace("0123", "3210"))
    refused = run(tree, "release-tag", "v1.2.3", IMAGE)
    assert (refused.returncode, refused.stderr) == (1, "v1.2.3 is the tag of another image\n")
    assert len(calls(tree)) == 2


@pytest.mark.parametrize("image", ["", "ghcr.io/octo-org/flux-upgrade:v1.2.3@", "ghcr.io/octo-org/flux-upgrade:v1"])
def test_an_image_without_a_digest_is_refused(tree: Path, image: str) -> None:
    refused = run(tree, "release-tag", "v1.2.3", image)
    assert refused.returncode == 1
    assert "not an image with tag and digest" in refused.stderr
    assert not (tree.parent / "bin" / "calls").exists()
