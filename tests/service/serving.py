"""Servers for tests: in this process, over memory or a file, with a clock that is set by hand."""

from itertools import count

from starlette.testclient import TestClient

from boxthirding.service.limits import Limits, Rate
from boxthirding.service.server import create_app
from boxthirding.service.service import Options, Service
from boxthirding.storage.memory import SHELVES

BASE = "http://127.0.0.1:8000"
API = "/api/v1"
ANSWERS = {"unfunny": 0.0, "somewhat funny": 0.5, "funny": 1.0}
SCALE = [{"label": label, "reward": reward} for label, reward in ANSWERS.items()]
UNLIMITED = Limits(*[Rate(1e9, 10**9)] * 5)

_places = count()


class Server:
    """A server without a socket, its operator's key, and a client for every credential."""

    def __init__(self, place=None, limits=UNLIMITED, **options):
        self.place = f"memory:service-{next(_places)}" if place is None else str(place)
        self.now = 1_000_000.0
        self.service = Service(self.place, Options(limits=limits, **options), clock=lambda: self.now)
        self.app = create_app(self.service)
        self.key = self.service.access.new_key("operator")[0]
        self.operator = self.client(self.key)

    def client(self, key=None, **headers):
        """Return a client with a key, or without; it has cookies of its own."""
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        return TestClient(self.app, base_url=BASE, headers=headers, raise_server_exceptions=False)

    def new_key(self, scope, study=None, **more):
        origin = "" if study is None else self.service.studies.origin(study)
        return self.service.access.new_key(scope, study, origin=origin, **more)[0]

    def study(self, name="captions", arms=("a", "b", "c", "d", "e"), about=None, **settings):
        """Make a study through the API, and return it as the library has it."""
        said = {"question": "How funny?", "scale": SCALE, **(about or {})}
        reply = self.operator.post(f"{API}/studies", json={"name": name, "arms": list(arms), "about": said, **settings})
        assert reply.status_code == 201, reply.text
        return self.service.studies.get(name).study

    def picture(self, mark="x"):
        """Upload a picture, another one for another mark, and return its id."""
        return self.operator.post(f"{API}/pictures", content=f"GIF89a{mark:20}".encode()).json()["id"]

    def link(self, study="captions", **settings):
        reply = self.operator.post(f"{API}/studies/{study}/links", json=settings)
        assert reply.status_code == 201, reply.text
        return reply.json()

    def rater(self, link, **claims):
        """Return a rater who has come by a link."""
        return Rater(self, link["secret"], claims)

    def close(self):
        self.service.close()
        SHELVES.pop(self.place.removeprefix("memory:"), None)


class Rater:
    """What the rating page does, in a browser of its own."""

    def __init__(self, server, secret, claims):
        self.client = server.client(Origin=BASE)
        self.path = f"{API}/rating/{secret}"
        self.start = self.client.post(f"{self.path}/sitting", json=claims)

    def post(self, what, **body):
        return self.client.post(f"{self.path}/{what}", json=body)

    def next(self, want=1):
        return self.post("next", want=want).json()["arms"]

    def rate(self, ticket, answer="funny", want=1, **more):
        return self.post("ratings", ratings=[{"ticket": ticket, "answer": answer, **more}], want=want)
