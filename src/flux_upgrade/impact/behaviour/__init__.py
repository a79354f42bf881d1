"""What releases of Flux change without a schema that says so."""
