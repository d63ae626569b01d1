"""The page at /."""

from served import violations, watched


def test_the_link_that_the_server_printed_lets_the_operator_in_once(browser, server):
    server.call("POST", "/studies", {"name": "captions", "arms": ["a", "b", "c"]})
    page = browser.new_page()
    wrong = watched(page)
    page.goto(server.address)
    page.get_by_role("heading", name="Sign in").wait_for()
    page.goto(f"{server.address}/#code={server.code}")
    page.get_by_role("link", name="captions").wait_for()
    assert server.code not in page.url
    assert (wrong, violations(page)) == ([], [])
    page.close()


def test_a_code_that_is_used_up_is_refused_in_words_and_a_key_lets_in(browser, server):
    page = browser.new_page()
    page.goto(f"{server.address}/#code=code_of_yesterday")
    page.get_by_role("alert").get_by_text("unknown, used or expired").wait_for()
    page.get_by_label("Key").fill(server.key)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("There are no studies here yet.").wait_for()
    assert page.get_by_role("alert").count() == 0
    page.close()
