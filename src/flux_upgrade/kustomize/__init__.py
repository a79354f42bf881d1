"""What kustomize does with the objects of a kustomization."""
