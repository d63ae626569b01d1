"""The service over SQLite and PostgreSQL: the same replies, and another server finds everything."""

from serving import API, BASE, Server


def test_a_contest_goes_on_with_another_server(url):
    first = Server(url)
    picture = first.operator.post(f"{API}/pictures", content=b"GIF89a" + bytes(20)).json()["id"]
    first.study(about={"picture": picture})
    link = first.link()
    rater = first.rater(link, id="5f0c")
    arm, ahead = rater.next(2)
    assert rater.rate(arm["ticket"], want=2).json()["ratings"] == [{"ticket": arm["ticket"], "outcome": "stored"}]
    headers = {"Idempotency-Key": "one"}
    asked = first.operator.post(f"{API}/studies/captions/tickets", json={"holder": "m"}, headers=headers).json()
    first.close()
    second = Server(url)
    key = second.client(first.key)
    again = key.post(f"{API}/studies/captions/tickets", json={"holder": "m"}, headers=headers)
    assert (again.json(), again.headers["idempotency-replayed"]) == (asked, "true")
    back = second.client(Origin=BASE)
    back.cookies.update(rater.client.cookies)
    assert back.post(f"{rater.path}/next", json={"want": 2}).json()["arms"][0] == ahead
    assert back.get(f"{rater.path}/pictures/{picture}").headers["content-type"] == "image/gif"
    assert key.get(f"{API}/studies/captions/raters").json()["raters"][0]["claims"] == {"id": "5f0c"}
    assert key.delete(f"{API}/studies/captions").status_code == 204
    assert key.get(f"{API}/studies").json() == {"studies": [], "next": None}
    second.close()
