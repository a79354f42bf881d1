"""The version of Flux that Gardener's extension ``shoot-flux`` installs."""
