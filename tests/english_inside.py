"""The English inside of a module: its comments, its docstrings, and the names that it binds."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

# A string or a comment. Python 3.11 has no f-string with its own quotes inside, so this agrees with tokenize,
# in a twentieth of the time.
_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*''', re.DOTALL
)
_CODES = r"[A-Z]+\d+(?:, ?[A-Z]+\d+)*"
_DIRECTIVE = re.compile(rf"(?:noqa(?:: {_CODES})?|(?:ruff|mypy): \S+|type: ignore(?:\[\S+\])?|fmt: \w+|[Ll]ate[:,])\s*")
_CODE = re.compile(r"(`+)[^`]+\1")
_CLAUSE = re.compile(
    r"\(?(?:it|its|they|them|their|theirs|that|those|what|whatever|where|wherever|who|whom|whose|whoever|which|whichever"
    r"|of|so|such|somebody|nobody|anybody|everybody)\b",
    re.IGNORECASE,
)
_PROPERTY = re.compile(r"property|setter|getter|deleter")
_COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PATTERN = (ast.MatchAs, ast.MatchStar, ast.MatchMapping)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMING = (ast.Name, ast.Attribute, ast.arg, ast.ClassDef, ast.alias, ast.ExceptHandler)
_BINDING = (*_NAMING, *_FUNCTION, *_PATTERN, *_COMPREHENSION)
_VERBS = """
Abort Accept Acquire Act Adapt Add Adjust Adopt Advance Align Allow Analyse Analyze Answer Append Apply Approve Ask
Assert Assess Assign Assume Attach Authorize Avoid Await Begin Bind Block Bootstrap Break Bring Build Bump Cache
Calculate Call Cancel Carry Catch Change Check Choose Claim Classify Clean Clear Clone Close Collapse Collect Combine
Commit Compare Compile Complete Compose Compute Configure Confirm Connect Construct Consume Continue Convert Copy
Correct Count Cover Create Cut Decide Declare Decode Decorate Decrypt Dedent Deduce Deduplicate Define Delay Delegate
Delete Deliver Demand Deny Derive Describe Detect Determine Diff Disable Discard Discover Dispatch Display Divide Do
Download Draw Drop Dump Edit Emit Enable Encode Encrypt End Enforce Ensure Enter Enumerate Escape Estimate Evaluate
Exclude Execute Exercise Exit Expand Expect Explain Export Expose Extend Extract Fail Fetch Fill Filter Find Finish
Fit Fix Flag Flatten Flush Fold Follow Forbid Force Forget Format Forward Gather Generate Get Give Go Grant Group
Guard Guess Handle Hash Have Hide Hold Identify Ignore Import Include Increase Indent Index Infer Inform Inherit
Initialize Insert Inspect Install Interpret Interrupt Invoke Issue Iterate Join Judge Keep Kill Label Launch Lead
Leave Let Limit Link List Listen Load Locate Lock Log Look Lower Make Map Mark Mask Match Measure Merge Migrate Mirror
Modify Mount Move Narrow Normalise Normalize Note Notify Obtain Offer Omit Open Order Overlay Override Pack Pair Parse
Partition Pass Patch Pause Perform Permit Pick Pin Plan Play Point Poll Pop Populate Post Prefer Prefix Prepare
Present Press Prevent Print Probe Process Produce Promise Promote Propose Protect Provide Prune Publish Pull Push Put
Query Queue Quote Raise Rank Reach Read Rebase Rebuild Receive Recognise Recognize Record Recover Redirect Reduce
Refer Refresh Refuse Regenerate Register Reject Release Reload Remember Remove Rename Render Repair Repeat Replace
Reply Report Represent Reproduce Request Require Reset Resolve Respond Restart Restore Restrict Resume Retrieve Retry
Return Reuse Revert Review Rewrite Roll Route Run Sample Save Scan Schedule Score Seal Search See Select Send Separate
Serialise Serialize Serve Set Share Shorten Show Shut Sign Simulate Skip Sleep Sort Spawn Spell Split Spoil Squash
Stage Start Step Stop Store Stream Strip Submit Substitute Subtract Sum Summarise Summarize Support Suppress Swap Take
Tell Terminate Test Throw Tick Touch Trace Track Translate Traverse Treat Trim Trust Try Turn Unify Uninstall Unpack
Unquote Unwrap Update Upgrade Upload Use Validate Verify View Visit Wait Wake Walk Warn Wrap Write Yield
"""  # A verb that is missing may be added
_IMPERATIVE = frozenset(_VERBS.split())

Places = Mapping[str, list[int]]  # Word, opening or name → lines


class Kind(Enum):
    COMMENT = auto()
    FUNCTION = auto()  # Docstring of a function that is no property
    NOUN = auto()  # Docstring of a module, class, field or property


class Text(NamedTuple):
    kind: Kind
    line: int  # First line
    text: str  # On one line; of a comment, without its directive


class Module(NamedTuple):
    texts: list[Text]  # Comments and docstrings; comments on successive lines are one text
    nodes: list[ast.AST]


def parse(source: str) -> Module:
    nodes = list(ast.walk(ast.parse(source)))
    return Module([*_comments(source), *_docstrings(nodes)], nodes)


def word_places(texts: Iterable[Text], wanted: Iterable[str]) -> Places:
    """Find words, or phrases, outside of inline code."""
    patterns = {word: re.compile(rf"\b{re.escape(word)}\b") for word in wanted}
    places: dict[str, list[int]] = {word: [] for word in patterns}
    for text in texts:
        prose = _CODE.sub("", text.text).lower()
        for word, pattern in patterns.items():
            if word in prose:
                places[word] += [text.line] * len(pattern.findall(prose))
    return places


def opening_places(texts: Iterable[Text]) -> Places:
    """Find docstrings of functions that do not begin with a verb, and other texts that open with a pronoun."""
    places: dict[str, list[int]] = {"no-verb": [], "pronoun": []}
    for text in texts:
        if text.kind is not Kind.FUNCTION:
            if _CLAUSE.match(text.text):
                places["pronoun"].append(text.line)
        elif not _begins_with_verb(text.text):
            places["no-verb"].append(text.line)
    return places


def name_places(nodes: Iterable[ast.AST], wanted: Iterable[str]) -> Places:
    """Find where names are bound; `name()` is a function of that name. A comprehension of one line may have `each`."""
    places: dict[str, list[int]] = {name: [] for name in wanted}
    nodes = [node for node in nodes if isinstance(node, _BINDING)]
    short = {id(target) for node in nodes for target in _short_targets(node)}
    for node in nodes:
        for name in _bound(node):
            if name in places and not (name == "each" and id(node) in short):
                places[name].append(getattr(node, "lineno", 0))
    return places


def _comments(source: str) -> Iterator[Text]:
    line = column = at_offset = 0
    block: list[str] = []
    first = last = 0
    for token in _TOKEN.finditer(source):
        line += source.count("\n", at_offset, token.start())
        at_offset = token.start()
        if token[0][0] != "#":
            continue
        start = source.rfind("\n", 0, at_offset) + 1
        is_alone = not source[start:at_offset].strip()
        if block and not (is_alone and line == last + 1 and at_offset - start == column):
            yield _comment(block, first)
            block = []
        if not block:
            first, column = line + 1, at_offset - start if is_alone else -1
        block.append(token[0].lstrip("#!").strip())
        last = line
    if block:
        yield _comment(block, first)


def _comment(lines: Iterable[str], line: int) -> Text:
    text = " ".join(lines)
    while directive := _DIRECTIVE.match(text):
        text = text[directive.end() :].lstrip("#( ")
    return Text(Kind.COMMENT, line, " ".join(text.split()))


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[Text]:
    for node in nodes:
        if isinstance(node, _FUNCTION):
            is_property = any(_PROPERTY.search(ast.unparse(decorator)) for decorator in node.decorator_list)
            yield from _text(node.body[0], Kind.NOUN if is_property else Kind.FUNCTION)
        elif isinstance(node, ast.Module | ast.ClassDef):
            for before, statement in zip([None, *node.body], node.body, strict=False):
                if before is None or isinstance(before, ast.Assign | ast.AnnAssign):
                    yield from _text(statement, Kind.NOUN)


def _text(statement: ast.stmt, kind: Kind) -> Iterator[Text]:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            yield Text(kind, statement.lineno, " ".join(text.split()))


def _begins_with_verb(docstring: str) -> bool:
    """Whether it is an imperative, or a predicate's "Whether". "Count of …" is a noun."""
    first, _, rest = docstring.partition(" ")
    word = first.rstrip(",:")
    return word == "Whether" or (word in _IMPERATIVE and not rest.startswith(("of ", "→ ")))


def _short_targets(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a comprehension of one line binds."""
    if isinstance(node, _COMPREHENSION) and node.lineno == node.end_lineno:
        for generator in node.generators:
            yield from ast.walk(generator.target)


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield from (name, f"{name}()")
        case ast.ClassDef(name=name) | ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


def merge(by_path: Iterable[tuple[str, Places]]) -> dict[str, list[str]]:
    """Collect the places of several modules as `path:line`."""
    merged: dict[str, list[str]] = defaultdict(list)
    for path, places in by_path:
        for key, lines in places.items():
            merged[key] += [f"{path}:{line}" for line in lines]
    return dict(merged)
