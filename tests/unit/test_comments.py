"""Comments go back to the entries that they were taken from."""

from __future__ import annotations

import pytest

from flux_upgrade.manifests.comments import Comment, extract, insert
from flux_upgrade.manifests.node_copies import serialize
from flux_upgrade.manifests.nodes import compose

TEXT = """# top
apiVersion: v1 # a
metadata: # b
  # name it
  name: x
  labels:
    a: | # block
      # not a comment
      text # neither
    # after the block
    b: "q # no" # yes
spec:
- name: i # item
  # value
  value: é#x # ünï
# before an item
- name: j
  value: 'don''t # this'
# the end
"""


def test_there_and_back() -> None:
    comments = extract(TEXT, compose(TEXT))
    assert [comment.text for comment in comments] == [
        "# top", "# a", "# b", "# name it", "# block", "# after the block", "# yes", "# item", "# value",
        "# ünï", "# before an item", "# the end",
    ]  # fmt: skip
    plain = serialize(compose(TEXT))
    assert "# top" not in plain
    text = insert(plain, compose(plain), comments)
    assert extract(text, compose(text)) == comments


def test_places() -> None:
    assert extract("a: 1 # x\n# y\nb: 2\n", compose("a: 1 # x\n# y\nb: 2\n")) == (
        Comment(("a",), inline=True, text="# x"),
        Comment(("b",), inline=False, text="# y"),
    )


@pytest.mark.parametrize("text", ["a: b#c\n", "a: '# no'\n", "a: |\n  # no\n", "a: >-\n  b\n  # no\nc: d\n"])
def test_no_comments(text: str) -> None:
    assert extract(text, compose(text)) == ()


def test_a_comment_whose_entry_is_gone_is_left_out() -> None:
    comments = (Comment(("z",), inline=True, text="# z"), Comment(("a",), inline=False, text="# a"))
    assert insert("a: 1\n", compose("a: 1\n"), comments) == "# a\na: 1\n"


def test_an_item_of_another_tools_form() -> None:
    text = "l:\n    # before\n    - a: 1 # in\n      b: 2\n"
    comments = extract(text, compose(text))
    plain = serialize(compose(text))
    assert insert(plain, compose(plain), comments) == "l:\n# before\n- a: 1 # in\n  b: 2\n"
