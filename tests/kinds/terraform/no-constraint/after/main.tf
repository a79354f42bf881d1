module "flux" {
  source = "./modules/flux"
}
