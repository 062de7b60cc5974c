"""A backend with the shape of the bug that the project is about, for the witness snapshots."""

import queue
import threading


class KVPoll:
    Failed = 0
    Bootstrapping = 1
    WaitingForInput = 2
    Transferring = 3
    Success = 4


class Manager:
    def __init__(self, socket, engine):
        self.socket = socket
        self.engine = engine
        self.request_status = {}
        self.transfer_infos = {}
        self.status_lock = threading.Lock()
        self.transfer_queue = queue.Queue()
        threading.Thread(target=self.control_thread, daemon=True).start()
        threading.Thread(target=self.transfer_worker, daemon=True).start()

    def check_status(self, room):
        with self.status_lock:
            return self.request_status.get(room, KVPoll.Failed)

    def update_status(self, room, status):
        with self.status_lock:
            current = self.request_status.get(room)
            if current is None:
                return
            if status == KVPoll.Failed:
                self.request_status[room] = status
            else:
                self.request_status[room] = max(current, status)

    def open_room(self, room, peers):
        with self.status_lock:
            self.transfer_infos[room] = dict(peers)
            self.request_status[room] = KVPoll.WaitingForInput
        self.engine.announce(room, peers)

    def submit(self, room, chunk, is_last):
        self.transfer_queue.put((room, chunk, is_last))

    def control_thread(self):
        while True:
            frame = self.socket.recv_multipart()
            room = int(frame[1])
            if frame[0] == b"ABORT":
                if self.check_status(room) != KVPoll.Success:
                    self.update_status(room, KVPoll.Failed)
                self.transfer_infos.pop(room, None)

    def transfer_worker(self):
        while True:
            room, chunk, is_last = self.transfer_queue.get()
            if room not in self.transfer_infos:
                continue
            self.update_status(room, KVPoll.Transferring)
            self.engine.write(chunk)
            if is_last:
                self.update_status(room, KVPoll.Success)
            else:
                self.update_status(room, KVPoll.Transferring)
