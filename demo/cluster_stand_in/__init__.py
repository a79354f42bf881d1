"""A stand-in for a Kubernetes API server and for Flux's controllers, on loopback.

``server`` speaks discovery, server-side apply, merge patches, lists and watches over HTTP, on the objects
of ``store``; ``controllers`` are clients of it (or of a real API server) that do to Deployments, sources
and Kustomizations what Kubernetes and Flux would; ``sources`` looks at real Git repositories for them.
The tests run the same cases on this and on a real kube-apiserver.
"""
