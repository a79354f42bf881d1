"""``gitops.flux`` of an eksctl ``ClusterConfig``."""
