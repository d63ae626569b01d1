"""What every request meets first: the Host, the Origin, limits, cookies, headers."""

import asyncio
import sys
from collections import Counter

import pytest
from serving import API, BASE, UNLIMITED, Server

from boxthirding.errors import InvalidInput
from boxthirding.service.limits import Limits, Rate
from boxthirding.service.service import Options


@pytest.fixture
def make():
    """Return a function that makes servers which are closed in the end."""
    made = []

    def server(**options):
        made.append(Server(**options))
        return made[-1]

    yield server
    for one in made:
        one.close()


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:8000", "192.168.1.5", "rate.example.org"])
def test_the_server_answers_to_its_names_and_to_addresses_in_numbers(make, host):
    server = make(public_url="https://rate.example.org")
    assert server.operator.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "rate.example.org.evil", "", "[", "a b"])
def test_another_name_is_refused_even_with_a_key(make, host):
    server = make(public_url="https://rate.example.org")
    for path in ("/", "/health", f"{API}/studies"):
        assert server.operator.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "rate.example.org",
        "https://",
        "https://x/path",
        "https://x?q=1",
        "https://u:p@x",
        "https://x/#y",
        "https://x:port",
        "https://[x",
    ],
)
def test_a_public_url_that_is_none_is_refused(url):
    with pytest.raises(InvalidInput, match="public URL"):
        Options(public_url=url)


@pytest.mark.parametrize("url", ["https://rate.example.org/", "http://127.0.0.1:8000", "https://Rate.example.org"])
def test_a_public_url_is_taken_with_a_slash_a_port_and_in_capitals(url):
    assert Options(public_url=url).public_url == url


@pytest.mark.parametrize(
    "origin",
    ["nonsense", "https://other.example/", "https://x/path", "https://X.example", "https://x:443", "*", "null"],
)
def test_an_origin_that_no_browser_sends_is_refused(origin):
    with pytest.raises(InvalidInput, match="as browsers send it"):
        Options(origins=frozenset({origin}))


@pytest.mark.parametrize("origin", ["https://app.example", "http://localhost:3000", "http://[::1]:3000"])
def test_an_origin_is_taken_as_browsers_send_it(origin):
    assert Options(origins=frozenset({origin})).origins == {origin}


class TestSessions:
    def test_a_code_is_exchanged_once_and_within_an_hour(self, server):
        access = server.service.access
        code, late = access.new_code(server.key), access.new_code(server.key)
        browser = server.client(Origin=BASE)
        reply = browser.post(f"{API}/session", json={"secret": code})
        assert reply.json()["scope"] == "operator"
        cookie = reply.headers["set-cookie"].lower()
        assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
        assert "secure" not in cookie
        assert browser.get(f"{API}/studies").status_code == 200
        assert server.client().post(f"{API}/session", json={"secret": code}).status_code == 403
        server.now += 3601
        assert server.client().post(f"{API}/session", json={"secret": late}).status_code == 403

    def test_under_https_the_cookie_is_secure(self, make):
        server = make(public_url="https://rate.example.org")
        reply = server.client().post(f"{API}/session", json={"secret": server.key})
        assert "secure" in reply.headers["set-cookie"].lower()
        server.study()
        link = server.link()
        assert link["url"].startswith("https://rate.example.org/rate/link_")
        assert "secure" in server.rater(link).start.headers["set-cookie"].lower()

    def test_a_session_ends_with_its_key_with_logging_out_and_in_time(self, server):
        secret, key = server.service.access.new_key("operator")
        browsers = [server.client(Origin=BASE) for _ in range(3)]
        for browser, one in zip(browsers, (secret, server.key, server.key), strict=True):
            browser.post(f"{API}/session", json={"secret": one})
            assert browser.get(f"{API}/session").status_code == 200
        kept = dict(browsers[1].cookies)
        server.operator.delete(f"{API}/keys/{key.id}")
        browsers[1].delete(f"{API}/session")
        assert "boxthirding" not in browsers[1].cookies
        browsers[1].cookies.update(kept)
        server.now += 1
        assert [browser.get(f"{API}/session").status_code for browser in browsers] == [401, 401, 200]
        server.now += 31 * 86_400
        assert browsers[2].get(f"{API}/session").status_code == 401


def cookie_work(server, cookie):
    """Return how many functions are called to answer a page and a rater who come with a cookie, and which modules'."""
    steps, modules = Counter(), set()

    def count(frame, event, _):
        if event in ("call", "c_call", "line"):
            steps[event] += 1
            modules.add(frame.f_globals.get("__name__"))
        return count

    shield, link = server.app.build_middleware_stack(), server.link()
    rater = f"/rating/{link['secret']}/sitting"

    async def ask(path):
        headers = [(b"host", b"localhost"), (b"cookie", cookie.encode())]
        scope = {"type": "http", "method": "GET", "path": f"{API}{path}", "query_string": b"", "headers": headers}

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_):
            pass

        await shield({**scope, "root_path": "", "app": server.app, "client": ("127.0.0.1", 1)}, receive, send)

    async def ask_both():
        await ask("/session")
        await ask(rater)
        sys.settrace(count)
        try:
            await ask("/session")
            await ask(rater)
        finally:
            sys.settrace(None)

    asyncio.run(ask_both())
    return sum(steps.values()), modules


class TestCookies:
    @pytest.mark.parametrize("name", ["boxthirding", "boxthirding-link", "other"])
    def test_a_long_one_is_read_in_steps_that_do_not_grow_with_it(self, server, name):
        server.study()
        made_up = [f'{name}="{chr(92) * 2 * size}"; a="{chr(92)}"{chr(34) * size}"' for size in (10, 7_500)]
        (few, _), (many, modules) = (cookie_work(server, cookie) for cookie in made_up)
        assert many < 2 * few
        assert "http.cookies" not in modules

    def test_ours_are_found_among_others(self, server):
        browser = server.client(Origin=BASE)
        browser.post(f"{API}/session", json={"secret": server.key})
        secret = browser.cookies["boxthirding"]
        for others in ("a=1; {}", "{} ; b", 'a="\\"; {}; boxthirdings=no', "=;; {};"):
            cookie = others.format(f"boxthirding={secret}")
            assert server.client(Cookie=cookie).get(f"{API}/session").status_code == 200, cookie
        for cookie in (f"xboxthirding={secret}", f"boxthirding={secret}x", "boxthirding", ""):
            assert server.client(Cookie=cookie).get(f"{API}/session").status_code == 401, cookie


class TestOrigins:
    @pytest.fixture
    def browser(self, server):
        client = server.client()
        client.post(f"{API}/session", json={"secret": server.key})
        return client

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Origin": BASE}, 201),
            ({"Sec-Fetch-Site": "same-origin"}, 201),
            ({}, 403),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://127.0.0.1:9999"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
        ],
    )
    def test_a_write_by_cookie_comes_from_a_page_of_ours(self, browser, headers, status):
        assert browser.post(f"{API}/keys", json={"scope": "reader"}, headers=headers).status_code == status
        assert browser.get(f"{API}/keys", headers=headers).status_code == 200

    def test_a_rating_comes_from_a_page_of_ours(self, server):
        server.study()
        rater = server.rater(server.link())
        for origin in ("https://evil.example", "null"):
            reply = rater.client.post(f"{rater.path}/next", json={}, headers={"Origin": origin})
            assert reply.status_code == 403

    def test_a_key_needs_no_origin(self, server):
        reply = server.operator.post(f"{API}/keys", json={"scope": "reader"}, headers={"Origin": "https://any"})
        assert reply.status_code == 201
        assert "access-control-allow-origin" not in reply.headers

    def test_another_origin_may_call_only_if_it_was_allowed(self, make):
        server = make(origins=frozenset({"https://app.example"}))
        allowed, other = ({"Origin": origin} for origin in ("https://app.example", "https://evil.example"))
        wish = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}
        preflight = server.client().options(f"{API}/studies", headers=allowed | wish)
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, "https://app.example")
        refused = server.client().options(f"{API}/studies", headers=other | wish)
        assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (400, False)
        assert server.client().options(f"{API}/studies", headers=other).status_code == 401
        assert "access-control-allow-origin" not in server.operator.get(f"{API}/studies", headers=other).headers
        reply = server.operator.get(f"{API}/studies", headers=allowed)
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in reply.headers


class TestLimits:
    FEW = Rate(0.001, 3)

    def statuses(self, times, call):
        return [call().status_code for _ in range(times)]

    def test_a_key_that_asks_too_often_is_told_when_to_come_back(self, make):
        server = make(limits=Limits(key=self.FEW, address=UNLIMITED.address))
        replies = [server.operator.get(f"{API}/session") for _ in range(4)]
        assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
        assert int(replies[-1].headers["retry-after"]) > 1
        other = server.client(server.new_key("reader"))
        assert other.get(f"{API}/session").status_code == 200

    def test_a_rater_who_asks_too_often_locks_no_other_out(self, make):
        server = make(limits=Limits(key=UNLIMITED.key, rater=self.FEW))
        server.study()
        link = server.link()
        eager, calm = server.rater(link), server.rater(link)
        assert self.statuses(4, lambda: eager.post("next")) == [200, 200, 200, 429]
        assert calm.post("next").status_code == 200

    def test_raters_who_share_an_address_all_get_the_page_and_its_files(self, make):
        server = make(limits=Limits(strangers=self.FEW))
        server.study()
        page = "/rate/" + server.link()["secret"]
        stranger = server.client()
        paths = [page, "/static/rate.js", "/static/rate.css"] * 10
        assert {stranger.get(path).status_code for path in paths} == {200}

    def test_strangers_who_guess_keys_lock_out_neither_keys_nor_raters(self, make):
        server = make(limits=Limits(strangers=self.FEW))
        server.study()
        rater = server.rater(server.link())
        stranger = server.client("key_guessed")
        assert self.statuses(5, lambda: stranger.get(f"{API}/studies")) == [401, 401, 401, 429, 429]
        guess = f"{API}/rating/link_guessed/next"
        assert self.statuses(1, lambda: server.client().post(guess)) == [429]
        assert (rater.post("next").status_code, server.operator.get(f"{API}/studies").status_code) == (200, 200)

    def test_an_address_cannot_make_up_raters_without_end(self, make):
        server = make(limits=Limits(new_raters=self.FEW))
        server.study()
        link = server.link()
        first = server.rater(link)
        assert self.statuses(3, lambda: server.rater(link).start) == [200, 200, 429]
        assert first.post("next").status_code == 200

    @pytest.mark.parametrize(("proxy", "statuses"), [(True, [401, 401, 401, 401]), (False, [401, 401, 401, 429])])
    def test_what_a_proxy_says_counts_only_behind_one(self, make, proxy, statuses):
        server = make(limits=Limits(strangers=self.FEW), proxy=proxy)
        stranger = server.client()
        got = [
            stranger.get(f"{API}/studies", headers={"X-Forwarded-For": f"8.8.8.8, 10.0.0.{number}"}).status_code
            for number in range(4)
        ]
        assert got == statuses

    def test_behind_a_proxy_the_last_address_counts_as_others_can_be_made_up(self, make):
        server = make(limits=Limits(strangers=self.FEW), proxy=True)
        stranger = server.client()
        got = [
            stranger.get(f"{API}/studies", headers={"X-Forwarded-For": f"10.0.0.{number}, 8.8.8.8"}).status_code
            for number in range(4)
        ]
        assert got == [401, 401, 401, 429]


class TestBodies:
    def test_a_body_beyond_its_limit_is_refused_whatever_its_length_was_said_to_be(self, server):
        server.study()

        def much():
            for _ in range(3):
                yield b" " * 500_000

        path = f"{API}/studies/captions/tickets"
        headers = {"Content-Type": "application/json"}
        assert server.operator.post(path, content=b" " * 1_000_001, headers=headers).status_code == 413
        assert server.operator.post(path, content=much(), headers=headers).status_code == 413
        wrong = {**headers, "Content-Length": "-1"}
        assert server.operator.post(path, content=b"{}", headers=wrong).status_code == 413

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"[" * 100_000,
            b'{"n": NaN}',
            b'{"n": 1e999}',
            b'{"holder": "\\ud800"}',
            b'{"n": ' + b"1" * 5000 + b"}",
            b"\xff\xfe",
            b'{"n": true}',
            b'{"n": "1"}',
            b"null",
            b"[]",
        ],
    )
    def test_a_body_that_is_no_good_is_refused_in_words(self, server, body):
        server.study()
        path = f"{API}/studies/captions/tickets"
        reply = server.operator.post(path, content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code in (400, 422), reply.text
        assert reply.json()["detail"]


def test_every_answer_says_how_a_browser_must_treat_it(server):
    server.study()
    for reply in (server.client().get("/"), server.client().get("/nothing"), server.operator.get(f"{API}/studies")):
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert "unsafe" not in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cache-control"] in ("no-store", "no-cache")


def test_the_page_at_the_root_needs_no_other_server(server):
    page = server.client().get("/").text
    assert "http" not in page.replace("https://www.w3.org", "")
    assert server.client().get("/static/index.js").headers["content-type"].startswith("text/javascript")
    for name in ("../app.py", "..%2Fapp.py", "index.py", ".hidden.js", "none.js"):
        assert server.client().get(f"/static/{name}").status_code in (401, 404)


def test_metrics_count_requests_pulls_tickets_and_raters(server):
    server.study()
    rater = server.rater(server.link())
    rater.rate(rater.next()[0]["ticket"])
    text = server.operator.get("/metrics").text
    assert 'boxthirding_pulls{study="captions"} 1.0' in text
    assert 'boxthirding_open_tickets{study="captions"} 1.0' in text
    assert 'boxthirding_raters{study="captions"} 1.0' in text
    assert 'route="/api/v1/rating/{link}/ratings",status="200"' in text
    assert rater.path not in text


def test_metrics_tell_a_page_from_the_api(server):
    server.study()
    server.operator.get("/studies/captions")
    server.operator.get("/studies/captions")
    server.operator.get(f"{API}/studies/captions")
    text = server.operator.get("/metrics").text
    assert 'boxthirding_requests_total{method="GET",route="/studies/{name}",status="200"} 2.0' in text
    assert 'boxthirding_requests_total{method="GET",route="/api/v1/studies/{name}",status="200"} 1.0' in text


@pytest.mark.parametrize("path", ["/", "/health", "/openapi.json"])
def test_what_is_open_to_all_answers_head_without_a_body(server, path):
    got, head = server.client().get(path), server.client().head(path)
    assert (head.status_code, head.content, head.headers) == (200, b"", got.headers)


def test_the_worker_of_the_rating_page_may_serve_that_page_and_no_other(server):
    assert server.client().get("/static/rate-worker.js").headers["service-worker-allowed"] == "/rate/"
    assert "service-worker-allowed" not in server.client().get("/static/rate.js").headers
