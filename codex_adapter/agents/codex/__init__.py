"""Run the Codex CLI of OpenAI as an agent."""
