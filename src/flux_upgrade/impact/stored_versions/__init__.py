"""In which versions a cluster may hold objects, as the history of its manifest tells."""
