"""``distribution.version`` of a FluxInstance, in the object or in the values of its chart."""
