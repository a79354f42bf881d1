"""The fewest hops from one release to another, where one step is not enough."""
