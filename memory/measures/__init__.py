"""What scoring measures about an exchange: one scorer per file, by name in `registry`."""
