"""In which versions a cluster may hold objects, by the history of its manifest."""
