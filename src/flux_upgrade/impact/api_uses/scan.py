"""Which files of the tree name versions of Flux's APIs, and where."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice, pairwise
from operator import attrgetter

from flux_upgrade.impact.api_uses.flux_file import ApiUse, Cut, FluxFile, UsePlace
from flux_upgrade.impact.api_uses.mentions import (
    METRICS,
    ApiGroups,
    Mention,
    beginning_of_line,
    groups_of,
    is_commented,
    is_version,
    mapping_at,
    subject,
    text_line_at,
)
from flux_upgrade.impact.api_uses.prefilter import overlapping
from flux_upgrade.model.errors import Unread, Unreadable
from flux_upgrade.model.text import decoded
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.passages import ENDS, Passage, whole
from flux_upgrade.snapshot.yaml_places import MOST_DOCUMENTS, is_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.api_uses.structure import Structure, UnreadableSpan
    from flux_upgrade.snapshot.snapshot import Snapshot

_MOST_IN_BROKEN = 100  # Uses of a document that cannot be read, which name one reason. The largest real file has 14.
_MOST = 2_500  # Mentions of versions in a file. The largest real file has 14.
_NEAR = 160  # Characters from the key of a mapping to a value in it
_TOO_MANY = f"the file names more than {_MOST:,} API versions"
_TOO_LARGE = "the file is too large to be read"
_COMMENT = "it is a comment"
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?= |\r?$)", re.MULTILINE)
"""https://git-scm.com/docs/git-merge#_how_conflicts_are_presented"""
_PUT_IN = re.compile(r"%\{|\[%|\[\[")
"""How further templates begin: Terraform's, and those of Go and Jinja with other delimiters."""
_KEY = re.compile(r"\b(?:apiVersion|group)\W{1,6}$")
_OBJECT = re.compile(r"""\bapi_?version\\?["']?\s*[:=]\s*\\?["']?$""", re.IGNORECASE)
_CAPABILITY = re.compile(r"\.Capabilities\.[^\n]*$")  # https://helm.sh/docs/chart_template_guide/builtin_objects/
_TERRAFORM = (".tf", ".tofu")
_TERRAFORM_RESOURCES = ("kubernetes_manifest", "kubectl_manifest")
"""https://registry.terraform.io/providers/hashicorp/kubernetes/latest/docs/resources/manifest has the object in HCL,
https://registry.terraform.io/providers/gavinbunney/kubectl/latest/docs/resources/kubectl_manifest a text."""
_MANIFESTS = (".yaml", ".yml", ".json")
_TEMPLATES = (".tmpl", ".tpl", ".gotmpl", ".tftpl", ".template", ".j2", ".jinja", ".jinja2", ".erb")
DOCUMENTS = (".md", ".mdx", ".markdown", ".txt", ".adoc", ".asciidoc", ".rst")
_SCRIPTS = (".sh", ".bash", ".ps1", ".tf", ".tofu", ".hcl", ".cue", ".jsonnet", ".libsonnet", ".pkl", ".k")
_PROGRAMS = (".ts", ".js", ".py", ".go", ".rb", ".nix", ".star")
SUFFIXES = (*_MANIFESTS, *_TEMPLATES, *DOCUMENTS, *_SCRIPTS, *_PROGRAMS, *NAMES)
"""Of the names of files that are looked at."""


def files(tree: Snapshot, groups: Collection[str], paths: Iterable[str] | None = None) -> Iterator[FluxFile]:
    """Find the files that name versions of ``groups``; ``Snapshot.unread`` has those that cannot be read.

    ``paths``: of the files to search; None: all that ``tree`` has.
    """
    known = groups_of(frozenset(groups))
    for path in tree.named(SUFFIXES) if paths is None else paths:
        content = tree.content(path)
        if content is None:
            found = _in_large(tree, path, known)
        else:
            found = find(path, content, groups, is_patch=path in tree.patch_files) if known.are_in(content) else None
        if found is not None:
            yield found


def _in_large(tree: Snapshot, path: str, groups: ApiGroups) -> FluxFile | None:
    """Return the versions that a manifest names in its text if it is too large to be read; None: none, or it is not."""
    if tree.unread.get(path) is not Unread.TOO_LARGE or not is_yaml(path):
        return None
    uses: list[ApiUse] = []
    with suppress(Unreadable):  # The file has gone meanwhile
        for piece, end in overlapping(tree.chunks(path)):
            text = decoded(piece)
            near = (mention for mention in groups.mentions(text) if mention.begin < end)
            uses += (_use(path, whole(text), mention, UsePlace.TEMPLATE, _TOO_LARGE) for mention in near)
            if len(uses) > _MOST_IN_BROKEN:
                break
    return FluxFile(path, b"", tuple(use._replace(line=1) for use in uses), ()) if uses else None


def find(
    path: str,
    content: bytes,
    groups: Collection[str],
    *,
    is_patch: bool = False,
    leaves_out: Callable[[str], bool] = lambda _: False,
) -> FluxFile | None:
    """What a file names of ``groups``; None: no version of any.

    ``is_patch``: a kustomization takes it for a patch, see ``Snapshot.patch_files``.
    ``leaves_out``: whether nobody asks for what a document has, so that it need not be read.
    """
    known = groups_of(frozenset(groups))
    if not known.are_in(content):
        return None
    text, is_manifest = decoded(content), is_yaml(path)
    every = known.mentions(text)
    mentions, more = every[:_MOST], every[_MOST : _MOST + 1]  # Those that are looked at, and the first that is not
    if not mentions and not (is_manifest and known.are_apart(text)):
        return None
    file, objects = whole(text), []
    cuts = [Cut(every[_MOST].end, len(text), _TOO_MANY)] if len(every) > _MOST + 1 else []
    if is_manifest:
        from flux_upgrade.impact.api_uses.structure import Structure  # late: few files name a version

        role = UsePlace.PATCH if is_patch else UsePlace.RESOURCE
        structure = Structure(path, content, file, known, mentions, role, leaves_out)
        uses, objects = [*_all(path, structure, known)], structure.objects
        cuts += _cuts(structure)
    else:
        uses = [*_in_text(path, file, mentions, "the file is not a manifest")]
        if path.endswith(_TERRAFORM):
            uses = [*_by_terraform(file, uses)]
    uses += (_use(path, file, each, UsePlace.TEMPLATE, _TOO_MANY) for each in more)
    if not uses:
        return None
    in_order = attrgetter("start")
    in_file = tuple(sorted(uses, key=in_order)), tuple(sorted(objects, key=in_order))
    return FluxFile(path, content, *in_file, tuple(_apart(cuts)))


def may_be_cut(path: str, content: bytes) -> bool:
    """Return whether ``find`` may leave out uses of a file: a test that nearly all files fail at once."""
    most = _MOST_IN_BROKEN if is_yaml(path) else _MOST
    return content.count(b".toolkit.fluxcd.io") > most or content.count(b"\n---") >= MOST_DOCUMENTS


def _cuts(structure: Structure) -> Iterator[Cut]:
    """Yield what is left out of documents that cannot be read, and the documents after too many."""
    starts = [each.start for each in structure.mentions]
    for broken in structure.broken:
        within = range(bisect_left(starts, broken.begin), bisect_left(starts, broken.end))
        if broken.is_rest:
            yield Cut(broken.begin, broken.end, broken.message)
        elif len(within) > _MOST_IN_BROKEN + 1:
            begin = structure.mentions[within[_MOST_IN_BROKEN]].end
            yield Cut(begin, broken.end, f"{broken.message}, and it names more than {_MOST_IN_BROKEN} API versions")


def _apart(cuts: Iterable[Cut]) -> Iterator[Cut]:
    """Yield parts of ``cuts`` that do not overlap, in the order of the file."""
    end = 0
    for cut in sorted(cuts):
        if cut.end > end:
            yield cut._replace(begin=max(cut.begin, end))
            end = cut.end


def _all(path: str, structure: Structure, groups: ApiGroups) -> Iterator[ApiUse]:
    """What the structure covers, and what it does not."""
    yield from structure.uses.values()
    left = [each for each in structure.mentions if each.start not in structure.claimed]
    starts = [each.start for each in left]
    for broken in structure.broken:
        within = left[bisect_left(starts, broken.begin) : bisect_left(starts, broken.end)]
        yield from _in_broken(path, structure.file, within, broken, groups)
        structure.claimed.update(each.start for each in within)
    comments = [each for each in left if each.start not in structure.claimed]
    yield from _in_text(path, structure.file, comments, _COMMENT)


def is_yaml(path: str) -> bool:
    """Return whether a file may hold manifests, by its name; of a template, by the name of its result."""
    name = posixpath.basename(path)
    while name.endswith(_TEMPLATES):
        name = name.rpartition(".")[0]
    return name.endswith(_MANIFESTS) or "." not in name


def _in_text(path: str, file: Passage, mentions: Iterable[Mention], why: str) -> Iterator[ApiUse]:
    """Those of a file that is no YAML, or what is left of one that is."""
    is_program = not is_yaml(path) and not path.endswith(DOCUMENTS)
    for mention in mentions:
        if not mention.is_put_in:
            use = _use(path, file, mention, UsePlace.TEXT, why)
            yield use._replace(place=UsePlace.SCRIPT) if is_program and _is_object(file.text, use, mention) else use


def _is_object(text: str, use: ApiUse, mention: Mention) -> bool:
    """Return whether a mention is the `apiVersion` of an object with a kind, and no comment."""
    before = text[beginning_of_line(text, mention.begin) : mention.begin]
    return bool(use.kind and _OBJECT.search(before)) and not is_commented(text, use.start)


def _by_terraform(file: Passage, uses: Iterable[ApiUse]) -> Iterator[ApiUse]:
    """With those that Terraform applies as what they are: resources, which only a person can change."""
    is_applied = _applied_by_terraform(file.text)
    for use in uses:
        is_text = not is_applied(use.line) or is_commented(file.text, use.start)
        yield use if is_text else use._replace(place=UsePlace.EMBEDDED, why="Terraform applies it")


def _applied_by_terraform(text: str) -> Callable[[int], bool]:
    """Whether a line, 1-based, is in a resource with which Terraform applies a manifest by itself, without Flux."""
    if not any(name in text for name in _TERRAFORM_RESOURCES):
        return lambda _: False
    from flux_upgrade.pins.formats import hcl  # late: as above

    blocks = hcl.blocks(text)
    lines = [*(each.line for each in blocks), text.count("\n") + 2]
    found = [
        range(begin, end)
        for each, (begin, end) in zip(blocks, pairwise(lines), strict=True)
        if each.type == "resource" and each.labels[:1] and each.labels[0] in _TERRAFORM_RESOURCES
    ]
    return lambda line: any(line in lines for lines in found)


def _in_broken(
    path: str, file: Passage, mentions: Iterable[Mention], broken: UnreadableSpan, groups: ApiGroups
) -> Iterator[ApiUse]:
    """Those of a document that cannot be read: a template, or one with a fault."""
    text = file.text[broken.begin : broken.end]
    is_template = is_variable(text)
    # A merge that is left unresolved ends the way to any use.
    is_no_template = _CONFLICT.search(text) is not None or not (is_template or _PUT_IN.search(text))
    is_unreadable = not broken.is_yaml and not path.endswith(ENDS) and is_no_template
    has_metrics = METRICS.search(file.text) is not None
    here = chain(mentions, _pairs(file.text, broken, groups))
    for each in islice(here, _MOST_IN_BROKEN):
        before = file.text[beginning_of_line(file.text, each.begin) : each.begin]
        place, why = UsePlace.TEXT, broken.message
        if is_commented(file.text, each.begin):
            why = _COMMENT
        elif _CAPABILITY.search(before):
            why = "a template asks whether the cluster serves it"
        elif has_metrics and _is_of_metric(file.text, each):
            place = UsePlace.METRIC
        elif _KEY.search(before) or (is_template and not each.is_put_in):
            place = UsePlace.TEMPLATE
            why = broken.message if is_unreadable else f"it is not valid YAML (it may be a template): {broken.message}"
        if place is not UsePlace.TEXT or not each.is_put_in:
            found = _use(path, file, each, place, why)
            yield found._replace(is_unreadable=is_unreadable and place is UsePlace.TEMPLATE)
    # The first that is not looked at may be of a resource.
    for each in islice(here, 1):
        yield _use(path, file, each, UsePlace.TEMPLATE, broken.message)._replace(is_unreadable=is_unreadable)


def _is_of_metric(text: str, mention: Mention) -> bool:
    """Return whether group and version are lines of a `groupVersionKind`, as kube-state-metrics has them."""
    is_pair = not text.startswith(("/", "\\"), mention.begin + len(mention.group))
    return is_pair and "groupVersionKind" in text[max(mention.begin - _NEAR, 0) : mention.begin]


def _pairs(text: str, broken: UnreadableSpan, groups: ApiGroups) -> Iterator[Mention]:
    """``group`` and ``version``, each in a line of its own."""
    for begin in groups.alone(text, broken.begin, broken.end):
        row = mapping_at(text, begin).get("version") if text_line_at(text, begin).key == "group" else None
        if row is not None and is_version(row.value):
            yield Mention(text_line_at(text, begin).value, row.value, begin, row.start, row.start + len(row.value))


def _use(path: str, file: Passage, mention: Mention, place: UsePlace, why: str) -> ApiUse:
    who = subject(file.text, mention.begin, mention.end)
    group, version, _, start, end = mention
    return ApiUse(path, file.line(start), group, version, *who, place, start, end, why)
