"""Embeddings somebody already has: arrays on disk, their labels, and the class names."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import fingerprint
from scopefl.core.scores import Floats, Labels, score
from scopefl.data.labels import class_numbers, read_classes
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import ScopeError
