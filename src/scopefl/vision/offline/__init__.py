"""The offline encoder: image and text models that pip installs, joined by a closed-form bridge."""
