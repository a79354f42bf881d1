"""What a text says, word by word: sentences of Markdown, and the texts of a module that users meet."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_ADDRESS = re.compile(r"\b[a-z]+://\S+")
_ITEM = re.compile(r"^(?:[-*+] |\d+[.)] )(?:\[[ x]\] )?")
_BLOCK = re.compile(r"^(?:#{1,6} |\||---+$|===+$)")
_END = re.compile(r"([.!?][)*_\"']*)\s+(?=[\[(*_\"'`]*(?:[A-Z0-9`\N{NUMERO SIGN}]|flux-upgrade))")
_LISTED = re.compile(r"\N{NUMERO SIGN}(?:(?:, | and | or |, and |, or |/)\N{NUMERO SIGN})+")
_OTHER = re.compile(r"\\[sdwbS]|\(\?|\^|\{\s|^ *[\w-]+:\n", re.MULTILINE)  # Patterns, GraphQL, YAML
_CODE_SIGN = "\N{NUMERO SIGN}"  # A whole piece of code, which counts as one word


def sentences(markdown: str) -> Iterator[str]:
    """Only prose, without its markup; a piece of code is one word, and so is a list of them.

    No headings, tables, code blocks, or comments.
    """
    for paragraph in _paragraphs(_COMMENT.sub("", markdown)):
        text = _ADDRESS.sub(_CODE_SIGN, _LINK.sub(r"\1", _CODE.sub(_CODE_SIGN, paragraph)))
        text = _LISTED.sub(_CODE_SIGN, _TAG.sub("", text).replace("\\", ""))
        yield from filter(None, (each.strip() for each in _END.sub(r"\1\n", text).split("\n")))


def words(sentence: str) -> int:
    """What has a letter or digit in it; a dash or a sign between words is none."""
    return sum(bool(re.search(rf"[^\W_]|{_CODE_SIGN}", word)) for word in sentence.split())


def _paragraphs(markdown: str) -> Iterator[str]:
    """An item of a list is a paragraph of its own, and so is a quoted one."""
    fence, lines = "", list[str]()
    for raw in [*markdown.splitlines(), ""]:
        line = re.sub(r"^(?:\s*> ?)+", "", raw).strip()
        opening = _FENCE.match(re.sub(r"^(?:\s*> ?)+", "", raw).lstrip())
        if opening is not None and (not fence or line == fence):
            fence = "" if fence else opening[1]
            line = ""
        elif fence:
            continue
        is_block = _BLOCK.match(line) is not None
        if lines and (not line or is_block or _ITEM.match(line)):
            yield " ".join(lines)
            lines = []
        if line and not is_block:
            lines.append(_ITEM.sub("", line))


def messages(source: str) -> Iterator[str]:
    """Each text of two words or more that is no docstring: what stands in braces of an f-string is a sign."""
    tree = ast.parse(source)
    skipped = {id(each) for each in _without_users(tree)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        text = _text(node)
        if " " in text.strip() and not _OTHER.search(text):
            yield text


def _without_users(tree: ast.Module) -> Iterator[ast.AST]:
    """Docstrings, patterns, and the parts of f-strings, which count as a whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from (part for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            yield from ast.walk(node)


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else _CODE_SIGN for part in parts)
    return ""
