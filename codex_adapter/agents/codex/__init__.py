"""The Codex CLI of OpenAI."""
