"""What a kind has to know besides: a module here is of the kinds that it is named after."""
