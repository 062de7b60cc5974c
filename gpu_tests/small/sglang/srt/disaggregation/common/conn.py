"""What every manager has: the status table, a socket, and a server where the two sides meet."""

import http.server
import json
import threading

import requests
import zmq
from sglang.srt.disaggregation.base.conn import KVPoll


class KVTransferError(Exception):
    pass


def get_zmq_socket_on_host(context, kind, host):
    bound = context.socket(kind)
    return bound.bind_to_random_port(f"tcp://{host}"), bound


class Meeting(http.server.BaseHTTPRequestHandler):
    """Remembers what the prefill side says about itself, and tells the decode side."""

    def do_PUT(self):
        self.server.known = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"{}")

    def do_GET(self):
        self._answer(self.server.known)

    def _answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class NixlKVBootstrapServer:
    def __init__(self, host, port):
        server = http.server.ThreadingHTTPServer((host, port), Meeting)
        server.known = b"{}"
        threading.Thread(target=server.serve_forever, daemon=True).start()


class CommonKVManager:
    def __init__(self, args, settings):
        self.kv_args = args
        self.local_ip = settings.host
        self.context = zmq.Context()
        self.rank_port, self.server_socket = get_zmq_socket_on_host(
            self.context, zmq.PULL, settings.host
        )
        self.request_status = {}
        self.failures = {}

    def announce(self, meeting):
        own = {"ip": self.local_ip, "port": self.rank_port}
        requests.put(f"http://{meeting}", data=json.dumps(own), timeout=10)

    def check_status(self, room):
        return self.request_status.get(room, KVPoll.Failed)

    def update_status(self, room, status):
        known = self.request_status.get(room)
        if known is None or status == KVPoll.Failed:
            self.request_status[room] = status
        else:
            self.request_status[room] = max(known, status)

    def record_failure(self, room, reason):
        self.failures[room] = reason

    def failure_of(self, room):
        return KVTransferError(self.failures.pop(room, "the transfer failed"))
