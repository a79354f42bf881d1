# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/fluxcd/flux" {
  version     = "1.9.1"
  constraints = "~> 1.0"
  hashes = [
    "h1:aGFzaCBvZiB0aGUgcGFja2FnZSBmb3IgdGhlIHRlc3Q=",
    "zh:0000000000000000000000000000000000000000000000000000000000000000",
  ]
}

provider "registry.opentofu.org/integrations/github" {
  version     = "6.6.0"
  constraints = ">= 6.1.0"
  hashes      = []
}
