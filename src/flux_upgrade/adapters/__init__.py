"""The only I/O: releases, files, the Flux CLI. Each behind a port, imported when it is built."""
