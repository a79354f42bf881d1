# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/fluxcd/flux" {
  version     = "1.9.1"
  constraints = ">= 1.8.0"
  hashes = [
    "h1:aGFzaCBvZiB0aGUgcGFja2FnZSBmb3IgdGhlIHRlc3Q=",
    "zh:0000000000000000000000000000000000000000000000000000000000000000",
  ]
}

provider "registry.terraform.io/integrations/github" {
  version     = "6.6.0"
  constraints = ">= 6.1.0"
  hashes      = []
}
