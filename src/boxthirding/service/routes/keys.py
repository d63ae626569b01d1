"""Sessions, keys, rating links and pictures."""

import segno
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from boxthirding.errors import InvalidInput
from boxthirding.service import pictures
from boxthirding.service import response_models as models
from boxthirding.service.authorization import ALL, ANY, GuardedRoute, key_of, needs, service_of
from boxthirding.service.keys import OPERATOR, SESSION_SECONDS, Key, as_row
from boxthirding.service.limits import PICTURE
from boxthirding.service.middleware import SESSION
from boxthirding.service.problems import Refusal, reply
from boxthirding.service.request_models import IdsIn, KeyIn, LinkIn, SessionIn

router = APIRouter(route_class=GuardedRoute, tags=["access"])


def is_secure(request: Request) -> bool:
    """Return whether browsers reach the server by https."""
    options = service_of(request).options
    if options.public_url is not None:
        return options.public_url.startswith("https:")
    return request.url.scheme == "https" or (options.proxy and request.headers.get("x-forwarded-proto") == "https")


def base_url(request: Request) -> str:
    """Return where browsers find the server."""
    public = service_of(request).options.public_url
    return public.rstrip("/") if public is not None else f"{request.url.scheme}://{request.headers['host']}"


@router.post("/session", response_model=Key, **needs(ALL))
def open_session(request: Request, body: SessionIn) -> Response:
    """Exchange a one-time code, or a key, for a cookie."""
    opened = service_of(request).access.open_session(body.secret)
    if opened is None:
        advice = "`boxthirding serve PLACE --new-key`, with the PLACE of this server, makes another"
        raise Refusal(403, "the code or key is unknown, used or expired", advice)
    secret, key = opened
    response = reply(as_row(key))
    response.set_cookie(
        SESSION, secret, int(SESSION_SECONDS), httponly=True, samesite="strict", secure=is_secure(request)
    )
    return response


@router.get("/session", response_model=Key, **needs(ANY))
def who_am_i(request: Request) -> Response:
    """Return the key that the request comes with."""
    return reply(as_row(key_of(request)))


@router.delete("/session", status_code=204, **needs(ANY))
def close_session(request: Request) -> Response:
    """End the session of the cookie that the request comes with; a key stays valid."""
    session = request.scope.get("boxthirding.session")
    if session is not None:
        service_of(request).access.close_session(session)
    response = Response(status_code=204)
    response.delete_cookie(SESSION, httponly=True, samesite="strict", secure=is_secure(request))
    return response


@router.get("/keys", response_model=models.Keys, **needs(OPERATOR))
def list_keys(request: Request) -> Response:
    """List the keys: all of them, or those of the operator's own study."""
    mine = key_of(request)
    return reply({"keys": [as_row(key) for key in service_of(request).access.keys.all() if mine.covers(key.study)]})


@router.post("/keys", response_model=models.KeyWithSecret, status_code=201, **needs(OPERATOR, secret=True))
def make_key(request: Request, body: KeyIn) -> Response:
    """Make a key. Its secret is in this reply and nowhere else.

    It expires with the key that makes it, if not earlier.
    """
    if not key_of(request).covers(body.study):
        raise Refusal(403, "this key is of one study, so it can only make keys of that study", "name that study")
    if body.study is not None and body.study not in service_of(request).studies.names():
        raise InvalidInput(
            f"study is {body.study!r}, but there is no study of that name, and a key must be of one that is there",
            advice="make the study first (POST /api/v1/studies), or leave study out for a key of all studies",
        )
    service, mine = service_of(request), key_of(request)
    origin = "" if body.study is None else service.studies.get(body.study).study.origin
    secret, key = service.access.new_key(
        body.scope, body.study, body.name, body.seconds, origin=origin, until=mine.expires
    )
    return reply(as_row(key, secret=secret), 201)


@router.delete("/keys/{id}", status_code=204, **needs(OPERATOR))
def revoke_key(request: Request, id: str) -> Response:  # noqa: A002  # the name in the path
    """Revoke a key: it is of no more use at once, nor are its sessions and event streams."""
    mine, access = key_of(request), service_of(request).access
    known = next((key for key in access.keys.all() if key.id == id and mine.covers(key.study)), None)
    if known is None or not access.keys.revoke(id):
        raise Refusal(404, f"there is no key {id[:40]!r} here", "GET /api/v1/keys lists them")
    return Response(status_code=204)


@router.get("/studies/{name}/links", response_model=models.Links, **needs(OPERATOR))
def list_links(request: Request, name: str) -> Response:
    """List the rating links of a study, and how many raters each has."""
    links, origin = service_of(request).links, service_of(request).studies.origin(name)
    there = [link for link in links.all(name) if link.origin == origin]
    return reply({"links": [as_row(link, started=links.raters(link.id)) for link in there]})


@router.post(
    "/studies/{name}/links", response_model=models.LinkWithSecret, status_code=201, **needs(OPERATOR, secret=True)
)
def make_link(request: Request, name: str, body: LinkIn) -> Response:
    """Make a rating link. Its address is in this reply and nowhere else, as text and as the picture of a QR code."""
    service = service_of(request)
    origin = service.studies.get(name).study.origin
    secret, link = service.links.new(name, origin=origin, **body.model_dump())
    url = f"{base_url(request)}/rate/{secret}"
    return reply(as_row(link, secret=secret, url=url, qr=qr_code(url)), 201)


@router.delete("/studies/{name}/links/{id}", status_code=204, **needs(OPERATOR))
def revoke_link(request: Request, name: str, id: str) -> Response:  # noqa: A002  # the name in the path
    """Revoke a rating link: its raters are let in no more."""
    if not service_of(request).links.revoke(name, id):
        raise Refusal(404, f"there is no link {id[:40]!r} here", "list the links of the study")
    return Response(status_code=204)


@router.post("/studies/{name}/links/{id}/signatures", response_model=models.Signatures, **needs(OPERATOR))
def sign_ids(request: Request, name: str, id: str, body: IdsIn) -> Response:  # noqa: A002  # the name in the path
    """Sign ids of raters: `?id=ID&signature=SIGNATURE` after the link lets in the rater of that id."""
    links = service_of(request).links
    if not any(link.id == id for link in links.all(name)):
        raise Refusal(404, f"there is no link {id[:40]!r} here", "list the links of the study")
    return reply({"signatures": [{"id": one, "signature": links.signature(id, one)} for one in body.ids]})


@router.post(
    "/pictures",
    response_model=models.Picture,
    status_code=201,
    **needs(OPERATOR, PICTURE, takes="application/octet-stream"),
)
async def upload_picture(request: Request) -> Response:
    """Upload a picture, the raw body: PNG, JPEG, WebP or GIF of at most 5 MB."""
    body = await request.body()
    kept = await run_in_threadpool(pictures.keep, service_of(request).records, body)
    return reply({"id": kept.id, "type": kept.type, "bytes": len(kept.data)}, 201)


@router.get("/pictures/{id}", **needs(ANY, sends="image/png"))
def show_picture(request: Request, id: str) -> Response:  # noqa: A002  # the name in the path
    """Return a picture."""
    return picture_reply(pictures.find(service_of(request).records, id))


def picture_reply(picture: pictures.Picture) -> Response:
    """Return a picture as a response that a browser may keep."""
    policy = {"Content-Security-Policy": "default-src 'none'; sandbox"}
    headers = {"Cache-Control": "private, max-age=31536000, immutable", **policy}
    return Response(picture.data, 200, headers, media_type=picture.type)


def qr_code(text: str) -> str:
    """Return a text as a QR code: an SVG picture, as an address that a page can show."""
    return segno.make(text, error="m").svg_data_uri(scale=8, dark="#000", light="#fff", border=4)
