import subprocess
import sys

import scopefl


def test_all_names_what_is_public_in_order():
    assert scopefl.__all__ == sorted(scopefl.__all__, key=str.casefold)
    assert all(hasattr(scopefl, name) for name in scopefl.__all__)


def test_importing_scopefl_loads_nothing_heavy():
    heavy = ["torch", "flwr", "onnxruntime", "pyarrow", "PIL", "click", "ray"]
    code = f"import sys, scopefl; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_command_line_loads_no_model_runtime():
    heavy = ["torch", "flwr", "onnxruntime", "pyarrow"]
    code = f"import sys, scopefl.cli.main; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
