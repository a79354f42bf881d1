"""Which files of the tree name versions of Flux's APIs, and where."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from flux_upgrade.errors import Unreadable
from flux_upgrade.kinds.formats.kustomize_files import NAMES, Kustomizations
from flux_upgrade.kinds.formats.passages import whole
from flux_upgrade.ports import Tree
from flux_upgrade.resources.flux_file import FluxFile, FluxObject
from flux_upgrade.resources.mentions import Groups, groups_of
from flux_upgrade.resources.structure import Structure
from flux_upgrade.resources.texts import in_broken, in_comments, in_text
from flux_upgrade.resources.use import Place, Use
from flux_upgrade.textedit import decoded

_MANIFESTS = (".yaml", ".yml", ".json")
_TEMPLATES = (".tmpl", ".tpl", ".gotmpl", ".tftpl", ".template", ".j2", ".jinja", ".jinja2", ".erb")
_DOCUMENTS = (".md", ".mdx", ".markdown", ".txt", ".adoc", ".asciidoc", ".rst")
_SCRIPTS = (".sh", ".bash", ".ps1", ".tf", ".tofu", ".hcl", ".cue", ".jsonnet", ".libsonnet", ".pkl", ".k")
_PROGRAMS = (".ts", ".js", ".py", ".go", ".rb", ".nix", ".star")
SUFFIXES = (*_MANIFESTS, *_TEMPLATES, *_DOCUMENTS, *_SCRIPTS, *_PROGRAMS, *NAMES)
"""Of the names of files that are looked at."""


def files(tree: Tree, groups: Collection[str], is_wanted: Callable[[str], bool]) -> Iterator[FluxFile]:
    """Every file of the tree that names versions of ``groups``; those that cannot be read are left out."""
    kustomizations = Kustomizations(tree)
    known = groups_of(frozenset(groups))
    for path in filter(is_wanted, tree.named(SUFFIXES)):
        content = b""
        with suppress(Unreadable):
            content = tree.read(path)
        if known.are_in(content):
            found = find(path, content, groups, is_patch=path in kustomizations.patch_files)
            if found is not None:
                yield found


def find(path: str, content: bytes, groups: Collection[str], *, is_patch: bool = False) -> FluxFile | None:
    """What a file names of ``groups``; None: no version of any.

    ``is_patch``: a kustomization takes it for a patch, see ``Kustomizations.patch_files``.
    """
    known = groups_of(frozenset(groups))
    if not known.are_in(content):
        return None
    file = whole(decoded(content))
    uses: list[Use] = []
    objects: list[FluxObject] = []
    if not _is_yaml(path):
        uses += in_text(path, file, known.mentions(file.text))
    elif known.are_named(file.text):
        structure = Structure(path, file, known, Place.PATCH if is_patch else Place.RESOURCE)
        uses += _all(path, structure, known)
        objects = structure.objects
    if not uses:
        return None
    return FluxFile(path, content, tuple(sorted(uses, key=_start)), tuple(sorted(objects, key=_start)))


def _all(path: str, structure: Structure, groups: Groups) -> Iterator[Use]:
    """What the structure tells of, and what it does not."""
    yield from structure.uses.values()
    left = [each for each in structure.mentions if each.start not in structure.told]
    for broken in structure.broken:
        within = [each for each in left if broken.begin <= each.start < broken.end]
        yield from in_broken(path, structure.file, within, broken, groups)
        structure.told.update(each.start for each in within)
    comments = (each for each in left if each.start not in structure.told)
    yield from in_comments(path, structure.file, comments)


def _start(each: Use | FluxObject) -> int:
    return each.start


def _is_yaml(path: str) -> bool:
    """Whether a file is YAML, or a template of some."""
    name = posixpath.basename(path)
    while name.endswith(_TEMPLATES):
        name = name.rpartition(".")[0]
    return name.endswith(_MANIFESTS) or "." not in name
