"""The round: by file, by call, and over Flower (the only folder that knows it)."""
