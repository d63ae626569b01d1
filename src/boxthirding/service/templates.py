"""Pages from templates: text is escaped, whatever it holds."""

from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from boxthirding.service.problems import Refusal, refused

_RATING: Final = "/rate/"
_PROGRAMS: Final = "/api/"
"""How the paths begin that are no pages: a browser is answered as a program is."""


def page(template: str, status: int = 200, **values: object) -> Response:
    """Return a page. A page holds no data of a study: its script asks the public API."""
    text = _environment().get_template(template).render(values)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-cache"})


def refusal(error: HTTPException, path: str, accepts: str) -> Response:
    """Return a refusal as a response: a page, where a browser asked for one, else a problem."""
    if path.startswith(_PROGRAMS) or "text/html" not in accepts:
        return refused(error)
    advice = error.advice if isinstance(error, Refusal) else ""
    template = "refused.html" if path.startswith(_RATING) else "locked.html"
    code = error.status_code
    response = page(template, code, code=code, detail=error.detail, advice=advice)
    response.headers.update(error.headers or {})
    return response


@cache
def _environment() -> Environment:
    loader = PackageLoader("boxthirding.service", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
