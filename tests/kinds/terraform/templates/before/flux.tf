resource "flux_bootstrap_git" "this" {
  path    = "clusters/{{ cluster }}"
  version = "{{ flux_version }}"
}
