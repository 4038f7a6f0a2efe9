import io

import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.vision.offline.bridge import IMAGE_WEIGHTS
from scopefl.vision.offline.torchfile import read_torch_file

torch = pytest.importorskip("torch")


def saved(state):
    buffer = io.BytesIO()
    torch.save(state, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def test_a_state_dict_is_read_as_torch_wrote_it():
    base = torch.arange(24, dtype=torch.float32)
    state = {
        "plain": base.reshape(4, 6),
        "transposed": base.reshape(4, 6).T,
        "a part": base[5:9],
        "one": torch.tensor(7),
        "empty strides": torch.ones(3, 1, 1),
    }
    found = read_torch_file(saved(state))
    assert list(found) == list(state)
    for name, wanted in state.items():
        np.testing.assert_array_equal(found[name], wanted.numpy())
        assert found[name].dtype == wanted.numpy().dtype


def test_the_installed_weights_are_what_torch_reads():
    raw = IMAGE_WEIGHTS.read()
    found = read_torch_file(raw)
    wanted = torch.load(io.BytesIO(raw), weights_only=True)
    assert list(found) == list(wanted)
    for name in wanted:
        np.testing.assert_array_equal(found[name], wanted[name].numpy())


class Evil:
    def __reduce__(self):
        return (print, ("executed",))


def test_a_name_that_is_not_allowed_is_refused_and_nothing_runs(capsys):
    with pytest.raises(ScopeError, match="print"):
        read_torch_file(saved({"x": Evil()}))
    assert capsys.readouterr().out == ""


def test_the_zip_format_is_refused():
    buffer = io.BytesIO()
    torch.save({"x": torch.ones(1)}, buffer)
    with pytest.raises(ScopeError, match="protocol 2"):
        read_torch_file(buffer.getvalue())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_cut_file_is_refused(share):
    raw = saved({"x": torch.ones(50)})
    with pytest.raises(ScopeError):
        read_torch_file(raw[: int(share * len(raw))])
