"""What SCOPE adds to Flower: `python -m benchmarks.flower [rounds] [wire] [thousand] [selection]`.

rounds     the profile round at 10 and 100 simulated clients against a Flower query round that sends
           empty records, in turn in one run; the clients hold their scores (500 samples each) in
           memory, then read them from disk, which an empty round has no part of
wire       bytes between one real client and the server, counted by a TCP proxy between them: the
           profile round beside the empty one, and beside the encoded profile
thousand   the profile round of 1,000 simulated clients: peak memory (PSS) of all its processes
selection  reading 100,000 scores and selecting, by the paper's rule and by the budget rule
"""

import argparse
import json
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil

from benchmarks.measure import machine, verdict
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile, read_scores, write_scores
from scopefl.federation import launch
from scopefl.federation.by_file import Rule, choose, merge

APP = Path(__file__).with_name("flower_app")
CLASSES = tuple(f"class-{c}" for c in range(10))
SLOWER = 1.15
Times = dict[str, list[tuple[float, float]]]


def scored(seed: int, n: int) -> ScoresFile:
    """Draw a client's scores."""
    rng = np.random.default_rng(seed)
    prototypes = np.linalg.qr(np.random.default_rng(0).standard_normal((32, 32)))[0][:10]
    labels = rng.choice(10, n, p=rng.dirichlet(np.full(10, 0.5)))
    images = prototypes[labels] + 0.2 * rng.standard_normal((n, 32))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    return ScoresFile.of(score(images, prototypes, labels), labels, CLASSES, b"kit-one!")


def write_clients(folder: Path, clients: int) -> None:
    """Write each client's scores file."""
    for client in range(clients):
        write_scores(scored(client, 500), folder / f"{client}.parquet")


def timed(home: launch.Home, folder: Path, simulate: int | None, **settings: str) -> Times:
    """Run the rounds in turn; give when each began and ended."""
    out = folder / "rounds.json"
    given = {**settings, "scores": f"'{folder}'", "out": f"'{out}'"}
    launch.run(APP, home, given, clients=simulate)
    times: Times = {}
    for name, started, ended in json.loads(out.read_text()):
        times.setdefault(name, []).append((started, ended))
    return times


def simulated(clients: int, repeats: int, memory: str = "true") -> Times:
    """Run the rounds in a simulation."""
    with TemporaryDirectory(prefix="scope-bench-") as name:
        folder = Path(name)
        write_clients(folder, clients)
        home = launch.Home(folder / "home", f"{launch.LOCAL}:{launch.free_port()}")
        home.write()
        with launch.simulation(home, folder / "superlink.log"):
            given = {"clients": str(clients), "repeats": str(repeats), "memory": memory}
            return timed(home, folder, clients, **given)


def rounds() -> None:
    """Print the profile round beside the empty one."""
    for clients, repeats in ((10, 20), (100, 16)):
        for memory, where in (("true", "in memory"), ("false", "on disk")):
            times = simulated(clients, repeats, memory)
            took = {k: statistics.median(e - s for s, e in v) for k, v in times.items()}
            print(
                f"{clients} clients, scores {where}: empty {took['empty']:.3f} s, "
                f"profile {took['profile']:.3f} s (medians of {repeats})"
            )
            ratio = took["profile"] / took["empty"]
            if memory == "true":
                print(verdict("profile over empty round", ratio, SLOWER))
            else:
                print(f"profile over empty round, with reading: {ratio:.2f}")


class CountingProxy:
    """Passes TCP on, and notes when how many bytes went which way."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[tuple[float, str, int]] = []
        self.listener = socket.create_server((launch.LOCAL, 0))
        self.address = f"{launch.LOCAL}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection((launch.LOCAL, self.port))
                for way, source, sink in (("up", near, far), ("down", far, near)):
                    threading.Thread(
                        target=self._pass_on, args=(way, source, sink), daemon=True
                    ).start()

    def _pass_on(self, way: str, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.seen.append((time.time(), way, len(data)))
                sink.sendall(data)
        sink.close()

    def bytes_in(self, way: str, spans: list[tuple[float, float]]) -> float:
        """Give the bytes that went one way within each span, on average."""
        within = (n for t, w, n in self.seen if w == way and any(s <= t <= e for s, e in spans))
        return sum(within) / len(spans)


@contextmanager
def one_client(folder: Path) -> Iterator[tuple[launch.Home, CountingProxy]]:
    """Lend a server with one client behind a counting proxy; without TLS, to count the messages."""
    port = launch.free_port()
    home = launch.Home(folder / "home", f"{launch.LOCAL}:{port}")
    home.write()
    link = [launch.command("flower-superlink"), "--insecure", "--port", str(port)]
    proxy = CountingProxy(port)
    node = [launch.command("flower-supernode"), "--insecure", "--superlink", proxy.address]
    node += ["--port", str(launch.free_port()), "--node-config", 'site="0"']
    with launch.started(link, home, folder / "superlink.log") as process:
        launch.wait_until_up(home, process, folder / "superlink.log")
        with launch.started(node, home, folder / "supernode.log"):
            yield home, proxy


def wire() -> None:
    """Print the bytes of a profile round beside those of an empty one."""
    with TemporaryDirectory(prefix="scope-bench-") as name:
        folder = Path(name)
        write_clients(folder, 1)
        file = read_scores(folder / "0.parquet")
        with one_client(folder) as (home, proxy):
            times = timed(home, folder, None, clients="1", repeats="5")
        print(f"encoded profile: {len(file.profile.to_bytes(file.fingerprint))} bytes")
        for round_name, spans in times.items():
            up, down = proxy.bytes_in("up", spans), proxy.bytes_in("down", spans)
            seconds = statistics.mean(e - s for s, e in spans)
            print(f"{round_name} round: {up:.0f} bytes up, {down:.0f} down in {seconds:.1f} s")


def thousand() -> None:
    """Print the peak memory of a profile round of 1,000 simulated clients."""
    peak, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.5):
            tree = psutil.Process().children(recursive=True)
            held = 0
            for process in tree:
                with suppress(psutil.Error):
                    held += process.memory_full_info().pss
            peak[0] = max(peak[0], held)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        times = simulated(1000, 1)
    finally:
        stop.set()
        watcher.join()
    (started, ended), *_ = times["profile"]
    print(f"1000 clients: profile round {ended - started:.1f} s, peak {peak[0] / 1e6:.0f} MB PSS")


def selection() -> None:
    """Print what selecting adds at a client of 100,000 samples."""
    with TemporaryDirectory(prefix="scope-bench-") as name:
        path, profile = Path(name, "scores.parquet"), Path(name, "site.profile")
        file = scored(0, 100_000)
        write_scores(file, path)
        profile.write_bytes(file.profile.to_bytes(file.fingerprint))
        agreement = merge([profile])
        for rule in (Rule(), Rule(keep="0.4")):
            started = time.perf_counter()
            choose(read_scores(path), agreement, rule, "site")
            took = time.perf_counter() - started
            print(verdict(f"{rule.settings['rule']} rule, 100,000 samples, seconds", took, 1.0))


PARTS = {"rounds": rounds, "wire": wire, "thousand": thousand, "selection": selection}


def main() -> None:
    """Run the parts that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    for part in parser.parse_args().parts or PARTS:
        print(f"== {part}: {machine()}")
        PARTS[part]()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
