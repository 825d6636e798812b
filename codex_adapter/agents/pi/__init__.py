"""pi as an agent."""
