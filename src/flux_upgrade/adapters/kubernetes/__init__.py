"""A Kubernetes cluster, by the official client: the extra ``cluster``. Imported only for a kubeconfig."""
