"""The pages of the documentation site, and in `docs.generate` the program that generates more of them."""
