"""What lies between a client and a server and loses replies: the request is carried out, and its sender never hears."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Losing:
    """A proxy that passes requests on, and closes the connection in the place of the replies that are to be lost."""

    def __init__(self, port):
        self.lose = 0  # replies from now on
        self.answers = []  # to be given instead of passing requests on: (status, headers, body)
        self.seen = []  # methods and paths
        self.headers = []
        outer = self

        class Between(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.seen.append((self.command, self.path))
                outer.headers.append(dict(self.headers))
                if outer.answers:
                    self.reply(*outer.answers.pop(0))
                    return
                beyond = http.client.HTTPConnection("127.0.0.1", port)
                beyond.request(self.command, self.path, body or None, dict(self.headers))
                reply = beyond.getresponse()
                data = reply.read()
                beyond.close()
                if outer.lose:
                    outer.lose -= 1
                    self.close_connection = True
                    return
                self.reply(reply.status, {"Content-Type": reply.headers.get("Content-Type", "")}, data)

            def reply(self, status, headers, data):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = do_CONNECT = answer  # noqa: N815  # the names that are looked for

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Between)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/#{name}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
