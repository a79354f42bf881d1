"""Addresses that a hostile server could name, and which of two servers on loopback they lead to.

``{api}`` has the token: 127.0.0.1 with its port, ``{a}``. ``{evil}`` is another one, at ``{e}``.
"""

from __future__ import annotations

from dataclasses import dataclass

REFUSED, API, ELSEWHERE = "refused", "api", "elsewhere"
"""Not followed; followed with the token; followed, if at all, without."""


@dataclass(frozen=True)
class Row:
    written: str
    outcome: str

    def at(self, api: str, evil: str) -> str:
        """The address, for servers at these two hosts."""
        a, e = api.rpartition(":")[2], evil.rpartition(":")[2]
        marks = {"{api}": api, "{evil}": evil, "{a}": a, "{e}": e}
        text = self.written
        for mark, value in marks.items():
            text = text.replace(mark, value)
        return text


ROWS = [
    *(
        Row(text, REFUSED)
        for text in (
            # A backslash: a slash to urllib3 and to browsers, part of a user name to urllib.parse.
            "http://{evil}\\@{api}/x",
            "http://{evil}\\\\@{api}/x",
            "http://{evil}\\.{api}/x",
            "http://{evil}\\{api}/x",
            "http://{evil}/\\@{api}/x",
            "http://{evil}?\\@{api}/x",
            "http://{evil}#\\@{api}/x",
            "http://{evil}:80\\@{api}/x",
            "http://me:private@{evil}\\@{api}/x",
            "http://{evil}\\:443@{api}/x",
            "http:\\\\{evil}/x",
            "http:\\/{evil}/x",
            "http:/\\{evil}/x",
            "\\\\{evil}/x",
            "/\\{evil}/x",
            "\\/{evil}/x",
            "//{evil}\\@{api}/x",
            "HTTP://{evil}\\@{api}/x",
            "http://{api}\\@{evil}/x",
            "http://{api}/x\\..\\y",
            # A user's name.
            "http://me@{evil}/x",
            "http://me:private@{evil}/x",
            "http://@{evil}/x",
            "http://:@{evil}/x",
            "http://{api}@{evil}/x",
            "http://{evil}@{api}/x",
            "http://{api}%40{evil}/x",
            "http://{evil}%2f@{api}/x",
            "http://{evil}%5c@{api}/x",
            "http://{evil}%23@{api}/x",
            "http://{evil}%00@{api}/x",
            "http://{evil}&@{api}#@{evil}/x",
            "http://a@{evil}@{api}/x",
            "http://{evil};@{api}/x",
            "//me@{evil}/x",
            # Characters that parsers drop, or stop at.
            "ht\ttp://{evil}/x",
            "http:/\t/{evil}/x",
            "http://{evil}\t@{api}/x",
            "http://\t{evil}/x",
            "http://{evil}/\tx",
            "\thttp://{evil}/x\x0b",
            "http://{evil}\x0c/x",
            "http://{evil}\x01@{api}/x",
            "http://{evil}\x7f@{api}/x",
            "\x01http://{evil}/x",
            "http://{evil}/x\x7f",
            "http://{evil} @{api}/x",
            "http://{evil} {api}/x",
            "http:// {evil}/x",
            "http ://{evil}/x",
            "http://{evil}/x ",
            "http://{evil}/x y",
            "http://{evil}\xa0/x",
            "http://{evil}\u2028@{api}/x",
            "http://{evil}\u3000/x",
            "http://\u200b{evil}/x",
            "http://\u202e{evil}/x",
            # Escapes in a host, and characters that become others.
            "http://127.0.0.1%09:{e}/x",
            "http://127.0.0.1%0d%0a:{e}/x",
            "http://127.0.0.1%00.example:{e}/x",
            "http://127.0.0.1%2f.example:{e}/x",
            "http://%31%32%37.0.0.1:{a}/x",
            "http://127%2e0%2e0%2e1:{e}/x",
            "http://[::1%25lo]:{e}/x",
            "http://[::1%lo]:{e}/x",
            "http://[fe80::1%25{api}]:{e}/x",
            "http://127\u30020\u30020\u30021:{e}/x",
            "http://127\uff0e0\uff0e0\uff0e1:{a}/x",
            "http://\uff11\uff12\uff17.0.0.1:{e}/x",
            "http://\u2460\u2461\u2466.0.0.1:{e}/x",
            "http://localho\u017ft:{e}/x",
            "http://127.0.0.1\uff1a{e}/x",
            "http://127.0.0.1\uff0f{e}/x",
            "http://{evil};.{api}/x",
            "http://{evil},{api}/x",
            # Ports, and hosts that are none.
            "http://127.0.0.1:0/x",
            "http://127.0.0.1:99999/x",
            "http://127.0.0.1:0x50/x",
            "http://127.0.0.1:-1/x",
            "http://127.0.0.1:+80/x",
            "http://127.0.0.1:\u0668\u0660/x",
            "http://{evil}:{a}/x",
            "http://[::1/x",
            "http://::1]:{e}/x",
            "http://[127.0.0.1]:{e}/x",
            "http://[{evil}]/x",
            "http://:{e}/x",
            "http://",
            "http:///{evil}:x",
            "https:{evil}/x",
            # Other schemes.
            "file:///etc/passwd",
            "file://{evil}/x",
            "data:text/plain,{evil}",
            "javascript:alert(1)",
            "ftp://{evil}/x",
            "gopher://{evil}/x",
            "localhost:{e}/x",
            "httpx://{evil}/x",
            "http+unix://{evil}/x",
        )
    ),
    *(
        Row(text, ELSEWHERE)
        for text in (
            "http://{evil}/x",
            "HTTP://{evil}/x",
            "hTTp://{evil}",
            "//{evil}/x",
            "http://localhost:{e}/x",
            "http://localhost:{a}/x",
            "http://LOCALHOST:{e}/x",
            "//localhost:{e}/x",
            "http://{evil}?@{api}/x",
            "http://{evil}#@{api}/x",
            "http://{evil}?/x",
            "http://{evil}#x",
            "http://{evil}/@{api}/x",
            "http://{evil}/%40{api}/x",
            "http://{evil}/%0d%0aAuthorization:x",
            "http://{evil}//{api}/x",
            "http://{evil}/;@{api}",
            "http://127.0.0.1.:{e}/x",
            "http://127.0.0.1.:{a}/x",
            "http://localhost.:{a}/x",
            "http://127.1:{e}/x",
            "http://127.1:{a}/x",
            "http://0177.0.0.1:{a}/x",
            "http://0x7f.0.0.1:{a}/x",
            "http://0x7f000001:{e}/x",
            "http://2130706433:{a}/x",
            "http://2130706433:{e}/x",
            "http://127.000.000.001:{a}/x",
            "http://0:{e}/x",
            "http://[::1]:{a}/x",
            "http://[::ffff:127.0.0.1]:{a}/x",
            "http://[::ffff:127.0.0.1]:{e}/x",
            "http://127.0.0.1:0{e}/x",
            "https://{evil}/x",
            "https://{api}/x",
        )
    ),
    *(
        Row(text, API)
        for text in (
            "http://{api}/y",
            "HTTP://{api}/y",
            "//{api}/y",
            "http://127.0.0.1:0{a}/y",
            "/y",
            "y",
            "./y",
            "../../y",
            "?y",
            "//{api}?y",
            "http:y",
            "http:/y",
            "/y?to=http://{evil}/x",
            "/y#@{evil}",
            "/@{evil}/x",
            "/%5c{evil}/x",
            "/y;//{evil}",
            "{evil}/x",
            ".//{evil}/x",
            "http://{api}/@{evil}",
            "http://{api}?@{evil}",
        )
    ),
]  # fmt: skip
