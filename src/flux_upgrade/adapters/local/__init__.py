"""The machine that the program runs on: files, processes, keys."""
