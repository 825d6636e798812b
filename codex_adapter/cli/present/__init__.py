"""Show runs to a person: as lines, on a terminal, as markup."""
