"""Each process of a `serve` gets each signal while requests are under way."""
