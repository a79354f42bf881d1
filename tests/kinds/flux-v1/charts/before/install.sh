#!/bin/sh
helm repo add fluxcd https://charts.fluxcd.io
helm upgrade -i flux fluxcd/flux
