"""Block mappings in Flux's form, as lines: cut into their keys, and put together again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def metadata(
    lines: list[str], indent: int, labels: dict[str, str], namespace: str = "", suffix: str = ""
) -> str:
    """The lines of a ``metadata`` with Flux's labels, namespace and name suffix put in their places.

    ``indent``: of its keys. Raises ValueError for a form that is not Flux's.
    """
    found = dict(sections(lines, indent))
    pad = " " * indent
    first, *existing = found.get("labels", [f"{pad}labels:\n"])
    if first != f"{pad}labels:\n":
        raise ValueError("labels in another form")
    found["labels"] = [f"{pad}labels:\n", *label_lines(existing, indent + 2, labels)]
    if suffix:
        found["name"] = [f"{found['name'][0].rstrip()}{suffix}\n"]
    if namespace:
        found["namespace"] = [f"{pad}namespace: {namespace}\n"]
    return "".join(line for key in sorted(found) for line in found[key])


def label_lines(existing: Iterable[str], indent: int, labels: dict[str, str]) -> list[str]:
    """Labels merged, in byte order, as kustomize writes them."""
    merged = {line.split(":", 1)[0].strip(): line for line in existing}
    merged |= {key: f"{' ' * indent}{key}: {value}\n" for key, value in labels.items()}
    return [merged[key] for key in sorted(merged)]


def sections(lines: list[str], indent: int) -> Iterator[tuple[str, list[str]]]:
    """The keys of a block mapping at ``indent``, each with all of its lines."""
    key, section = "", list[str]()
    for line in lines:
        if line[:indent].isspace() and line[indent] not in " -":
            if section:
                yield key, section
            key, section = line[indent:].split(":", 1)[0], []
        section.append(line)
    if section:
        yield key, section
