"""A disk that is full: no file of this process may grow beyond a size."""

import resource
import signal
from contextlib import contextmanager


@contextmanager
def full_disk(largest):
    """Let no file grow beyond so many bytes, and let a write that tries fail, not kill."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
