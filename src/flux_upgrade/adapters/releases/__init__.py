"""Where releases of Flux come from."""
