"""Sites with made-up images in a few classes, and a real browser to open pages with."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scopefl.core.fingerprint import fingerprint
from scopefl.core.policy import Agreement, agree
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile
from scopefl.federation.by_file import Rule, coreset
from scopefl.report.collection import Site

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
NAMES = ("cat", "dog", "<script>alert(1)</script>", "珠光体")


@dataclass(frozen=True)
class Round:
    """What a round left behind: sites, what they agreed, and the scores they began with."""

    sites: list[Site]
    agreement: Agreement
    files: list[ScoresFile]


def make_round(
    n: int = 400,
    *,
    clients: int = 2,
    classes: Sequence[str] = NAMES,
    rule: Rule | None = None,
    settings: dict[str, Any] | None = None,
) -> Round:
    """Score noisy points round random prototypes, a tenth of them under a wrong label."""
    rng = np.random.default_rng(0)
    c = len(classes)
    prototypes = unit(rng.standard_normal((c, 16)))
    truth = rng.choice(c, size=n, p=common(c))
    owner = rng.integers(clients, size=n) if clients < n else np.arange(n)
    v_img = unit(prototypes[truth] + 0.25 * rng.standard_normal((n, 16)))
    wrong = rng.random(n) < 0.1
    labels = np.where(wrong, (truth + 1) % c, truth)
    kit = fingerprint(classes, {})
    files, rows_of = [], [np.flatnonzero(owner == k) for k in range(clients)]
    for rows in rows_of:
        ids = [f"{row:05d}.png" for row in rows]
        scores = score(v_img[rows], prototypes, labels[rows])
        files.append(
            ScoresFile.of(scores, labels[rows], classes, kit, ids=ids, paths=ids, settings=settings)
        )
    agreement = agree([file.profile.to_bytes(kit) for file in files])
    sites = [
        Site(
            coreset(file, agreement, rule or Rule(), f"site {k}"),
            file=f"site-{k}.parquet",
            embeddings=v_img[rows],
            truth=truth[rows],
        )
        for k, (file, rows) in enumerate(zip(files, rows_of, strict=True))
    ]
    return Round(sites, agreement, files)


def common(c: int) -> Any:
    """Make class 0 ten times as common as the last."""
    size = 10 ** -np.linspace(0, 1, c)
    return size / size.sum()


def unit(rows: Any) -> Any:
    """Divide each row by its norm."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.fixture(scope="session")
def played() -> Callable[..., Round]:
    """Give the maker of rounds."""
    return make_round


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start a headless Chromium; a machine without one fails, it does not skip."""
    from playwright.sync_api import sync_playwright

    found = [path for path in CHROMIUM if Path(path).is_file()]
    if not found:
        pytest.fail("the report is tested in a real browser: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found[0], args=list(FLAGS))
        yield started
        started.close()


@dataclass
class Opened:
    """A page in the browser with all that it complained about and asked for."""

    page: Any
    complaints: list[str]
    requests: list[str]

    def marks(self, chart: str) -> int:
        """Count what a chart draws for its data."""
        box = f'[data-chart="{chart}"] .mark-symbol.role-mark path, '
        box += f'[data-chart="{chart}"] .mark-rect.role-mark path'
        drawn = self.page.locator(box).evaluate_all(
            "marks => marks.filter(mark => mark.getBoundingClientRect().width > 0.2).length"
        )
        return int(drawn)

    def settle(self) -> None:
        """Wait until the charts have been drawn again."""
        self.page.wait_for_timeout(150)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Give a function that opens HTML from a file with the network watched."""
    contexts = []

    def open_html(html: str, **options: Any) -> Opened:
        path = tmp_path / "page.html"
        path.write_text(html, "utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        found = Opened(page, [], [])
        page.on("console", lambda said: found.complaints.append(said.text))
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("dialog", lambda dialog: found.complaints.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: found.requests.append(request.url))
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_function("document.documentElement.dataset.drawn", timeout=60_000)
        return found

    yield open_html
    for context in contexts:
        context.close()
