"""``gotk-components.yaml``: rendered, proved, upgraded with its edits. Pure: text in, text out."""
