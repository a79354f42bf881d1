terraform {
  required_version = ">= 1.7.0"

  required_providers {
    github = {
      source  = "integrations/github"
      version = ">= 6.1"
    }
    flux = {
      source  = "fluxcd/flux"
      version = "~> 1.0"
    }
  }
}
