"""What going from one release of Flux to another means for a repository and its clusters."""
