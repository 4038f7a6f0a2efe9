import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # torch and open_clip take seconds to import and build

pytest.importorskip("torch")


def run(code):
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_open_clip_and_timm_import_beside_any_torchvision():
    code = (
        "from scopefl.torchvision_import import import_over_torchvision\n"
        "load = import_over_torchvision\n"
        "print(load('open_clip') is load('open_clip'), load('timm').__name__)"
    )
    assert run(code) == "True timm"


def test_a_torchvision_that_is_already_imported_stays_the_same():
    code = (
        "from scopefl.torchvision_import import import_over_torchvision\n"
        "import_over_torchvision('open_clip')\n"
        "import sys\n"
        "before = sys.modules['torchvision']\n"
        "import_over_torchvision.cache_clear()\n"
        "import_over_torchvision('open_clip')\n"
        "print(sys.modules['torchvision'] is before)"
    )
    assert run(code) == "True"


def test_without_open_clip_the_extra_is_named():
    code = (
        "import sys\n"
        "sys.modules['open_clip'] = None\n"
        "from scopefl.errors import ScopeError\n"
        "from scopefl.torchvision_import import import_over_torchvision\n"
        "try:\n"
        "    import_over_torchvision('open_clip')\n"
        "except ScopeError as error:\n"
        "    print(error)"
    )
    assert "pip install 'scopefl[torch]'" in run(code)
