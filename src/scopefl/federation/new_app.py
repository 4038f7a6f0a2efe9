"""A ready Flower app, copied from the template that comes with the package."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from scopefl.errors import ScopeError

TEMPLATE = "template"


def new_app(folder: Path) -> None:
    """Write the app into a folder that does not exist yet, or is empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScopeError(f"{folder} must be new or an empty folder; choose another name")
    with as_file(files(__package__) / TEMPLATE) as template:
        leave_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(template, folder, ignore=leave_out, dirs_exist_ok=True)
