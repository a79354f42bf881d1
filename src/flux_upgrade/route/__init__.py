"""Steps of an upgrade, in order: the planned one, and those before and after."""
