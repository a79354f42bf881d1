"""A build without kustomize's load restrictor reads what Flux reads, and no file outside of the copy that is built.

Each hostile case is a kustomization that does read one, if the restrictor is off: it is run so, first.
"""

from __future__ import annotations

import os
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from flows import manifest
from flux_upgrade.adapters.local import kustomize
from flux_upgrade.adapters.local.confined import reach_of
from flux_upgrade.adapters.local.files import Directory
from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.result import Overlay
from flux_upgrade.model.errors import ClusterUnfit
from flux_upgrade.model.unknown import known_or
from flux_upgrade.snapshot.snapshot import Snapshot
from real_parts import require_program
from unit.test_growth import lines_run

pytestmark = pytest.mark.real_part("kustomize")

FOLDER = "clusters/a/flux-system"
SECRET = "private-4417"
OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {a: b}}\n"
ABOVE = {f"{FOLDER}/own.yaml": OBJECT, "shared/above.yaml": OBJECT.replace("own", "above")}
# Something that Flux accepts and the restrictor does not: without it, the restrictor would be on in any case.
HEAD = "resources: [own.yaml, ../../../shared/above.yaml]\n"
PLUGIN = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, name: x, files: [FILE]}\n"
PATCH = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: own}}, data: {{a: {SECRET}}}}}\n"
NAMED = OBJECT.replace("own", SECRET)
KUSTOMIZATION = f"resources: [r.yaml]\n---\n{NAMED}"


PATCH_OF_FLUX = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: source-controller, namespace: flux-system, labels: {{a: {SECRET}}}}}
"""


class Case(NamedTuple):
    text: str  # Below HEAD; FILE is the file outside, absolute or by `..`, and BINARY its name in base64
    content: str = NAMED  # Of the file outside
    more: Mapping[str, str] = {}  # Other files
    head: str = HEAD
    is_relative: bool = False  # An absolute name would be one in the copy
    is_read: bool = True  # False: what it holds is not in what is built


def generator(fields: str, kind: str = "configMapGenerator") -> str:
    return f"{kind}: [{{name: x, {fields}}}]\n"


CASES = {
    "a resource": Case("", head=HEAD.replace("]", ", FILE]")),
    "a base": Case("bases: [FILE]\n"),
    "a file of a ConfigMap": Case(generator("files: [FILE]")),
    "a file of a Secret": Case(generator("files: [FILE]", "secretGenerator")),
    "a file with a key": Case(generator("files: ['key=FILE']")),
    "variables": Case(generator("envs: [FILE]"), f"a={SECRET}\n"),
    "variables of an older kind": Case(generator("env: FILE"), f"a={SECRET}\n"),
    "a patch": Case("patches: [{path: FILE}]\n", PATCH),
    "a patch of an older kind": Case("patchesStrategicMerge: [FILE]\n", PATCH),
    "a JSON patch": Case(
        "patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: own}, path: FILE}]\n",
        f'[{{"op": "add", "path": "/data/b", "value": "{SECRET}"}}]\n',
    ),
    "a replacement": Case(
        "replacements: [{path: FILE}]\n",
        "{source: {kind: ConfigMap, name: own, fieldPath: data.a}, "
        f"targets: [{{select: {{name: own}}, fieldPaths: [data.{SECRET}], options: {{create: true}}}}]}}\n",
    ),
    "a configuration": Case(
        "namePrefix: p-\nconfigurations: [FILE]\n", f"namePrefix: [{{path: data/{SECRET}, create: true}}]\n"
    ),
    "a schema": Case("openapi: {path: FILE}\n", f'{{"definitions": {{"{SECRET}": {{}}}}}}\n', is_read=False),
    "the schema of a CRD": Case("crds: [FILE]\n", f'{{"{SECRET}": {{"Schema": {{}}}}}}\n', is_read=False),
    "in a base": Case("bases: [../b]\n", more={f"{FOLDER}/../b/kustomization.yaml": "resources: [FILE]\n"}),
    "in a base of a base": Case(
        "bases: [../b]\n",
        more={
            f"{FOLDER}/../b/kustomization.yml": "resources: [../../../c]\n",
            "c/Kustomization": generator("files: [FILE]"),
        },
    ),
    "in a component": Case(
        "components: [../c]\n",
        more={
            f"{FOLDER}/../c/kustomization.yaml": (
                "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, "
                "configMapGenerator: [{name: x, files: [FILE]}]}\n"
            )
        },
    ),
    "a generator": Case("generators: [gen.yaml]\n", more={f"{FOLDER}/gen.yaml": PLUGIN}),
    "a generator that stands there": Case(f"generators:\n- |\n  {PLUGIN}"),
    "a generator of a directory": Case(
        "generators: [gen]\n",
        more={f"{FOLDER}/gen/kustomization.yaml": "resources: [gen.yaml]\n", f"{FOLDER}/gen/gen.yaml": PLUGIN},
    ),
    "a generator whose file another field puts together": Case(
        "generators: [gen]\n",
        more={
            f"{FOLDER}/gen/kustomization.yaml": (
                "resources: [gen.yaml]\nreplacements:\n- source: {kind: ConfigMapGenerator, fieldPath: metadata.annotations.a}\n"
                "  targets: [{select: {kind: ConfigMapGenerator}, fieldPaths: [files.0]}]\n"
            ),
            f"{FOLDER}/gen/gen.yaml": (
                "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x, annotations: {a: FILE}}, name: x, "
                "files: [none]}\n"
            ),
        },
    ),
    "a transformer": Case(
        "transformers: [t.yaml]\n",
        PATCH,
        {f"{FOLDER}/t.yaml": "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: FILE}\n"},
    ),
    "the name in base64": Case(generator("files: [!!binary BINARY]")),
    "the name in base64, with a tag of its own": Case(
        f"%TAG !x! tag:yaml.org,2002:\n---\n{HEAD}{generator('files: [!x!binary BINARY]')}", head=""
    ),
    "the name by an alias": Case(f"commonAnnotations: {{a: &a FILE}}\n{generator('files: [*a]')}"),
    "the name by an alias of a value": Case(
        f"{generator('literals: [&a k=FILE]', 'secretGenerator')}{generator('files: [*a]')}"
    ),
    "a field that is merged": Case("configMapGenerator: [{name: x, <<: {files: [FILE]}}]\n"),
    "escapes in the name": Case(generator('files: ["ESCAPED"]')),
    "a line end in the name": Case(generator('files: ["x\\n/../FILE"]'), is_relative=True),
    "spaces around the name": Case("patches: [{path: ' FILE'}]\n", PATCH, is_relative=True),
    "a field in another case": Case("ConfigMapGenerator: [{name: x, Files: [FILE]}]\n"),
    "a field that is written twice": Case(generator("files: [own.yaml], files: [FILE]")),
    "as JSON": Case('{"configMapGenerator": [{"name": "x", "files": ["FILE"]}]}', head=""),
    "a comment": Case(generator("files: [FILE # own.yaml\n]")),
    "a text over lines": Case("configMapGenerator:\n- name: x\n  files:\n  - >-\n    FILE\n"),
    "a second document": Case("---\n" + generator("files: [FILE]"), is_read=False),
}
ABSOLUTE, RELATIVE = "absolute", "by .."
HOSTILE = [
    pytest.param(name, way, id=f"{name}, {way}")
    for name, case in CASES.items()
    for way in (ABSOLUTE, RELATIVE)
    if way == RELATIVE or not case.is_relative
]


@pytest.fixture(params=["kustomize", "kubectl"])
def program(request: pytest.FixtureRequest) -> str:
    return require_program(request.param)


def built_by(program: str, folder: Path) -> kustomize.Kustomize:
    """As on a PATH with this program only."""
    (folder / "bin").mkdir()
    (folder / "bin" / os.path.basename(program)).symlink_to(os.path.realpath(program))
    found = kustomize.find(str(folder / "bin"), {"HOME": "/nonexistent", "PATH": os.defpath}, 60.0)
    assert found is not None
    return found


def files_of(case: Case, name: str) -> dict[str, bytes]:
    escaped = "".join(f"\\x{ord(each):02x}" for each in name)
    texts = {**ABOVE, **case.more, f"{FOLDER}/kustomization.yaml": case.head + case.text}
    named = {"FILE": name, "BINARY": b64encode(name.encode()).decode(), "ESCAPED": escaped}
    for old, new in named.items():
        texts = {path: text.replace(old, new) for path, text in texts.items()}
    return {os.path.normpath(path): text.encode() for path, text in texts.items()}


def is_leaked(output: bytes, case: Case) -> bool:
    """Whether it has what is in the file outside, as it is or as a Secret has it."""
    encoded = b64encode(case.content.encode())
    return SECRET.encode() in output or encoded in b"".join(output.split())


def unrestricted(program: str, files: Mapping[str, bytes], root: Path) -> bytes:
    """What the program builds with the restrictor off, and nothing else in the way."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    words = ["build"] if program.endswith("kustomize") else ["kustomize"]
    command = [program, *words, "--load-restrictor=LoadRestrictionsNone", str(root / FOLDER)]
    return subprocess.run(command, capture_output=True, check=False, timeout=60).stdout  # noqa: S603


@pytest.mark.parametrize(("name", "way"), HOSTILE)
def test_no_file_outside_of_the_copy_is_read(name: str, way: str, program: str, tmp_path: Path) -> None:
    case, outside = CASES[name], tmp_path / "outside.yaml"
    outside.write_text(case.content)
    named = str(outside) if way == ABSOLUTE else "../" * 20 + str(outside)[1:]
    files = files_of(case, named)
    assert is_leaked(unrestricted(program, files, tmp_path / "copy"), case) == case.is_read, "it is not hostile"
    assert not reach_of(files, FOLDER).is_confined
    try:
        built = built_by(program, tmp_path).build(files, FOLDER, "flux-system")
    except ClusterUnfit as error:
        built = f"{error.message} {error.hint}".encode()
    assert not is_leaked(built, case)


@pytest.mark.parametrize("field", ["bases", "resources", "components"])
def test_no_directory_outside_of_the_copy_is_built(field: str, program: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    kind = "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n" if field == "components" else ""
    (outside / "kustomization.yaml").write_text(f"{kind}resources: [r.yaml]\n")
    (outside / "r.yaml").write_text(NAMED)
    text = f"{field}: [{'../' * 20}{str(outside)[1:]}]\n"
    head = "resources: [own.yaml]\n" if field != "resources" else ""
    files = files_of(Case(text, head=head), "")
    assert SECRET.encode() in unrestricted(program, files, tmp_path / "copy"), "it is not hostile"
    assert not reach_of(files, FOLDER).is_confined


def test_the_flux_cli_which_never_restricts_builds_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "flux").write_text("#!/bin/sh\necho 'a: b'\n")
    (tmp_path / "bin" / "flux").chmod(0o755)
    flux = kustomize.find(str(tmp_path / "bin"), {}, 60.0)
    assert flux is not None
    for case in (each for each in CASES.values() if not each.is_relative):
        with pytest.raises(ClusterUnfit, match="could read files outside the repository"):
            flux.build(files_of(case, "/etc/passwd"), FOLDER, "flux-system")
    sync = (
        b"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system}\n"
        b"spec: {path: ./clusters/a, components: [COMPONENT]}\n"
    )
    files = files_of(Case(""), "")
    outside = [
        (field, path) for field in ("components", "Components", "component\u017f") for path in ("../../../../c", "/c")
    ]
    for field, component in (("components", "../../../c"), *outside):
        is_built = (field, component) not in outside
        text = sync.replace(b"COMPONENT", component.encode()).replace(b"components", field.encode())
        files[f"{FOLDER}/gotk-sync.yaml"] = text
        if is_built:
            assert flux.build(files, FOLDER, "flux-system") == b"a: b\n"
            continue
        with pytest.raises(ClusterUnfit, match="could read files outside the repository"):
            flux.build(files, FOLDER, "flux-system")


FLUX_ACCEPTS: dict[str, tuple[str, dict[str, str], str]] = {
    "a resource": ("resources: [../../../shared/above.yaml]\n", {}, "above"),
    "a file of a ConfigMap": (
        generator("files: ['k=../../../shared/app.conf']"),
        {"shared/app.conf": "found-it"},
        "found-it",
    ),
    "variables": (generator("envs: [../vars.env]"), {"clusters/a/vars.env": "a=found-it\n"}, "found-it"),
    "a patch": (
        "resources: [own.yaml]\npatches: [{path: ../../../patches/p.yaml}]\n",
        {"patches/p.yaml": PATCH.replace(SECRET, "found-it")},
        "found-it",
    ),
    "a file of a base": (
        "resources: [../../../base]\n",
        {"base/kustomization.yaml": "resources: [../shared/above.yaml]\n"},
        "above",
    ),
    "values that begin with a slash": (
        "resources: [../../../shared/above.yaml]\n" + generator("literals: ['a=/etc/found-it', b=../../../../../..]"),
        {},
        "/etc/found-it",
    ),
}


@pytest.mark.parametrize("name", FLUX_ACCEPTS)
def test_a_file_above_the_kustomization_is_read_as_flux_reads_it(name: str, program: str, tmp_path: Path) -> None:
    text, more, expected = FLUX_ACCEPTS[name]
    files = files_of(Case(text, more=more, head=""), "")
    built = built_by(program, tmp_path).build(files, FOLDER, "flux-system")
    assert expected in built.decode()
    assert all(isinstance(each, dict) for each in yaml.safe_load_all(built))


def test_the_copy_has_no_links(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kustomize").write_text(
        f"#!/bin/sh\n/usr/bin/find . -type l > {asked}\n/usr/bin/find . -type f >> {asked}\n"
    )
    (tmp_path / "bin" / "kustomize").chmod(0o755)
    found = kustomize.find(str(tmp_path / "bin"), {"PATH": os.defpath}, 60.0)
    assert found is not None
    files = files_of(Case(""), "")
    found.build(files, FOLDER, "flux-system")
    assert sorted(asked.read_text().split()) == sorted(f"./{path}" for path in files)


MANIFEST = f"{FOLDER}/gotk-components.yaml"


PATCHED = "patches: [{path: ../../../shared/patch.yaml}]\n"


def planned(program: str, folder: Path, more: str = PATCHED) -> Overlay:
    """What `plan` finds of an overlay of Flux in a repository on disk, whose patch is in another directory."""
    root = folder / "fleet"
    (root / FOLDER).mkdir(parents=True)
    text = f"resources: [gotk-components.yaml]\n{more}"
    (root / FOLDER / "kustomization.yaml").write_text(text)
    before, after = manifest("v2.9.3"), manifest("v2.9.4")
    (root / MANIFEST).write_bytes(before)
    overlay = known_or(
        check_overlay(Snapshot(Directory(str(root))), MANIFEST, before, after, built_by(program, folder)), None
    )
    assert overlay is not None
    return overlay


def test_a_plan_is_checked_with_a_patch_of_another_directory(program: str, tmp_path: Path) -> None:
    (tmp_path / "fleet" / "shared").mkdir(parents=True)
    (tmp_path / "fleet" / "shared" / "patch.yaml").write_text(PATCH_OF_FLUX)
    found = planned(program, tmp_path)
    assert (found.builder, found.unbuilt, found.failed) == (os.path.basename(program), "", "")
    assert found.built is not None


@pytest.mark.parametrize("link", ["file", "directory", "chain"])
def test_a_link_of_the_repository_leads_to_no_file_of_this_machine(link: str, program: str, tmp_path: Path) -> None:
    shared, outside = tmp_path / "fleet" / "shared", tmp_path / "outside"
    outside.mkdir()
    (outside / "patch.yaml").write_text(PATCH_OF_FLUX)
    if link == "directory":
        shared.parent.mkdir()
        shared.symlink_to(outside)
    else:
        shared.mkdir(parents=True)
        (shared / "first").symlink_to(outside / "patch.yaml")
        (shared / "patch.yaml").symlink_to("first" if link == "chain" else outside / "patch.yaml")
    found = planned(program, tmp_path)
    assert found.unbuilt.startswith("it does not build today either")
    assert SECRET not in repr(found)


@pytest.mark.parametrize("name", [".git/config", "link"])
def test_what_git_keeps_is_not_built(name: str, program: str, tmp_path: Path) -> None:
    """A token, if actions/checkout keeps one there."""
    (tmp_path / "fleet" / ".git").mkdir(parents=True)
    (tmp_path / "fleet" / ".git" / "config").write_text(SECRET)
    (tmp_path / "fleet" / "link").symlink_to(".git/config")
    found = planned(program, tmp_path, generator(f"files: [k=../../../{name}]"))
    assert found.built is None
    assert found.unbuilt.startswith("it does not build today either")
    assert SECRET not in repr(found)


def test_work_grows_no_faster_than_the_files() -> None:
    taken = []
    for count in (50, 400, 800):
        texts = "".join(f"- ../../../d{number}/x.yaml\n- ../../../d{number}\n" for number in range(count))
        files = {f"d{number}/kustomization.yaml": b"resources: [x.yaml, ../d0]\n" for number in range(count)}
        files |= {
            f"{FOLDER}/kustomization.yaml": b"resources:\n"
            + texts.encode()
            + b"patches: "
            + b"[" * count
            + b"]" * count
        }
        taken.append(lines_run(partial(reach_of, files, FOLDER)))
    assert taken[2] - taken[1] <= 1.2 * 400 / 350 * (taken[1] - taken[0])
