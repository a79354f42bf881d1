"""How files of each format are read and changed by span: what several kinds share."""
