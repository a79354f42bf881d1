"""Every place where a version of Flux is written: a directory for each kind."""
