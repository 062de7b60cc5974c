"""The queue between the scheduler and a worker."""

import queue


class FastQueue(queue.Queue):
    def put(self, item):
        super().put(item)

    def get(self):
        return super().get()
