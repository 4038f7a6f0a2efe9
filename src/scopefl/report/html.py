"""Rendering: templates, charts, and a policy that lets nothing else run or be fetched."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2


def render(template: str, context: dict[str, Any], data: dict[str, Any]) -> str:
    """Give a whole page: `context` for its text, `data` for its charts."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("scopefl.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"count": _count, "share": _share, "ratio": _ratio, "hex": bytes.hex}
    scripts = [_library(), _asset("page.js")]
    return environment.get_template(template).render(
        **context,
        data=inline_json(data),
        style=_asset("page.css"),
        scripts=scripts,
        policy=_security(scripts),
    )


def _security(scripts: Sequence[str]) -> str:
    """Let only these very scripts run, and nothing be fetched or sent."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _library() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("\r", "").replace("</script", r"<\/script")


def _asset(name: str) -> str:
    return resources.files("scopefl.report").joinpath("templates", name).read_text("utf-8")


def inline_json(value: Any) -> str:
    r"""Give JSON that can stand inside a script element, whatever names are in it.

    >>> inline_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _count(value: int) -> str:
    return f"{value:,}"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}\N{NO-BREAK SPACE}%" if whole else "-"


def _ratio(value: float) -> str:
    return "a class is empty" if value == float("inf") else f"{value:.3g}"
