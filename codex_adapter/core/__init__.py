"""The pure core: bytes of the agent to bounded events. No I/O, no clock, no environment."""
