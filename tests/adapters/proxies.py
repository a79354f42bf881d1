"""A proxy on loopback that records whom it is asked for, and refuses."""

from __future__ import annotations

from loopback_server import LoopbackServer

from adapters.loopback import Handler, Served


class RecordingProxy(Served):
    """Answers every request with 403; ``asked`` has ``HOST:PORT`` of each, in order."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Refusing(Handler):
            def _refuse(self) -> None:
                asked.append(self.path)
                self.send_error(403)

            do_CONNECT = do_GET = do_POST = _refuse  # noqa: N815  (http.server's names)

        self._server = LoopbackServer(Refusing)
