"""The round: by file, by call, and over Flower (the only folder that knows it)."""

import os

# Flower reads these when it is imported: on its own it would report each run to its makers.
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")
