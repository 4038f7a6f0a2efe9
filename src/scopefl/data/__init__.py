"""What images and tables come from: sources, decoding rules, quarantine, score files."""
