"""The page of a study with 20,000 arms and 100,000 pulls: it opens, and ships little. How fast is a benchmark."""

import pytest
from playwright.sync_api import expect
from served import API, Process, violations, watched

from benchmarks import page as large

pytestmark = pytest.mark.soak

LARGEST = 300_000  # bytes of a reply


def test_a_large_study_opens_and_no_reply_is_large(browser, tmp_path):
    large.build(tmp_path / "server.db")
    with Process(tmp_path / "server.db") as server:
        context = browser.new_context(reduced_motion="reduce")
        assert context.request.post(f"{server.address}{API}/session", data={"secret": server.key}).ok
        page = context.new_page()
        wrong, sizes = watched(page), []
        page.on("requestfinished", lambda one: sizes.append(one.sizes()["responseBodySize"]))
        page.goto(f"{server.address}/studies/{large.NAME}")
        page.locator(".board .arm").first.wait_for()
        rung = page.locator(".rung-size:enabled").last
        rung.scroll_into_view_if_needed()
        rung.click()
        expect(page.locator("dialog .members li")).to_have_count(50)
        page.locator("#curves svg").first.wait_for()
        assert page.locator(".arm").count() < 300
        assert (wrong, violations(page)) == ([], [])
        assert max(sizes) < LARGEST
        context.close()
