"""What mkdocs does not know of these pages: a hook of ``mkdocs.yml``.

The home page is made from README.md. A link out of ``docs`` leads to the repository. A picture
is found from the page's own address. A pull request is rendered as
GitHub renders it: Python-Markdown reads lists in another way.
"""

from __future__ import annotations

import logging
import posixpath
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import github_markdown

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
HOME = "index.md"
_DOCS = "docs/"
_LOG = logging.getLogger("mkdocs.hooks")
_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()([^)\s:]+)(?=\))")  # of a file: an address has a colon
_PICTURE = re.compile(r'(?<=[ <])(src|srcset)="([^":]+)"')
_PULL_REQUEST = re.compile(
    r"^<!-- pull-request: [a-z0-9-]+ -->\n(.*?)^<!-- /pull-request -->$", re.DOTALL | re.MULTILINE
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the home page."""
    from mkdocs.structure.files import File

    text = linked((ROOT / "README.md").read_text(encoding="utf-8"), "README.md", str(config.repo_url))
    files.append(File.generated(config, HOME, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links and pull requests of a page."""
    del files
    source = page.file.src_uri
    text = markdown if source == HOME else linked(markdown, _DOCS + source, str(config.repo_url))
    text = pictured(text, "README.md" if source == HOME else _DOCS + source, page.url)
    return _PULL_REQUEST.sub(lambda match: rendered(match[1]), text)


def linked(text: str, page: str, repository: str) -> str:
    """A text of the repository's file ``page``, with the links that the site needs."""
    parts = _CODE.split(text)  # code at the odd places
    parts[::2] = [_LINK.sub(partial(_on_site, page, repository), part) for part in parts[::2]]
    return "".join(parts)


def pictured(text: str, page: str, url: str) -> str:
    """The same, with the addresses in its HTML as the page at ``url`` needs them: mkdocs changes only Markdown's."""

    def there(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), match[2])).removeprefix(_DOCS)
        return f'{match[1]}="{posixpath.relpath(target, url or ".")}"'

    return _PICTURE.sub(there, text)


def _on_site(page: str, repository: str, link: re.Match[str]) -> str:
    path, _, anchor = link[1].partition("#")
    if not path:
        return link[1]
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if target.startswith(_DOCS):
        there = posixpath.relpath(target, posixpath.dirname(page) if page.startswith(_DOCS) else "docs")
    elif target == "README.md":
        there = posixpath.relpath(_DOCS + HOME, posixpath.dirname(page))
    else:
        if not (ROOT / target).exists():
            _LOG.warning("%s links to %s, which does not exist", page, target)
        there = f"{repository}/{'tree' if (ROOT / target).is_dir() else 'blob'}/main/{target}"
    return f"{there}#{anchor}" if anchor else there


def rendered(text: str) -> str:
    """A pull request as HTML, in one block."""
    return f'<div class="pull-request">\n{github_markdown.rendered(text)}</div>'
