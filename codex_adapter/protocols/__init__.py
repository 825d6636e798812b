"""How others use runs: protocols over the public names of the package; none of them knows another (P3)."""
