"""A pytest of its own runs tests that leave things behind, and tests that do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import left_behind

left_behind.PATIENCE = 0.3

def pytest_configure(config):
    config.pluginmanager.register(left_behind.LeftBehind())
"""
HELPERS = """
import atexit, os, socket, subprocess, threading, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

KEPT = []
END = threading.Event()

def thread(seconds=None):
    kept = threading.Thread(target=END.wait, args=[seconds], name="kept", daemon=True)
    kept.start()
    return kept

def process():
    kept = subprocess.Popen(["sleep", "60"])
    atexit.register(kept.wait)
    atexit.register(kept.kill)
    return kept

def zombie():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    atexit.register(os.waitpid, pid, 0)

def server():
    KEPT.append(socket.create_server(("127.0.0.1", 0)))
    return KEPT[-1]

"""
THREAD, PROCESS = "thread kept", r"process \d+: sleep 60"
ZOMBIE = r"process \d+, which ended without being waited for"
SERVER = r"socket that listens at \('127\.0\.0\.1', \d+\)"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def blamed(pytester: pytest.Pytester, tests: str, **counts: int) -> list[str]:
    """What is said of the tests that were failed, "test: what it left behind"; ``counts`` as pytest's."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(HELPERS + tests)
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(**counts)
    text = "\n".join(ran.outlines)
    sections = re.findall(r"^_+ ERROR at teardown of (?:\w+\.)?(\w+) _+\n+((?:(?!^[_=]{3}).*\n)*)", text, re.MULTILINE)
    return [f"{test}: {line}" for test, block in sections for line in block.splitlines() if " left behind: " in line]


@pytest.mark.parametrize(
    ("kind", "pattern"), [("thread", THREAD), ("process", PROCESS), ("zombie", ZOMBIE), ("server", SERVER)]
)
def test_a_test_that_leaves_something_behind_is_failed(pytester: pytest.Pytester, kind: str, pattern: str) -> None:
    tests = f"""
def test_before():
    pass

def test_leaves():
    {kind}()

def test_after():
    pass
"""
    lines = blamed(pytester, tests, passed=3, errors=1)
    assert len(lines) == 1
    assert re.fullmatch(f"test_leaves: the test left behind: {pattern}", lines[0])


def test_everything_left_behind_is_reported_at_once(pytester: pytest.Pytester) -> None:
    (line,) = blamed(pytester, "def test_leaves():\n    thread(), process(), server()\n", passed=1, errors=1)
    assert re.fullmatch(f"test_leaves: the test left behind: {PROCESS}; {SERVER}; {THREAD}", line)


def test_the_fixtures_of_a_test_are_its_own(pytester: pytest.Pytester) -> None:
    tests = """
@pytest.fixture
def started():
    thread()

def test_leaves(started):
    pass
"""
    assert blamed(pytester, tests, passed=1, errors=1) == [f"test_leaves: the test left behind: {THREAD}"]


def test_a_test_that_fails_is_blamed_too(pytester: pytest.Pytester) -> None:
    tests = """
@pytest.fixture
def broken():
    yield
    assert False, "at the end"

def test_fails():
    thread()
    assert False

def test_ends_badly(broken):
    thread()

def test_is_skipped():
    thread()
    pytest.skip()
"""
    assert blamed(pytester, tests, passed=1, failed=1, skipped=1, errors=3) == [
        f"test_fails: the test left behind: {THREAD}",
        f"test_ends_badly: E       the test left behind: {THREAD}",
        f"test_is_skipped: the test left behind: {THREAD}",
    ]


def test_tests_that_clean_up_pass(pytester: pytest.Pytester) -> None:
    tests = """
@pytest.fixture
def started():
    opened, running = server(), process()
    yield
    opened.close()
    running.kill()
    running.wait()

def test_fixture(started):
    pass

def test_within():
    subprocess.run(["true"])
    with socket.create_server(("127.0.0.1", 0)):
        pass

def test_about_to_end():
    thread(0.1)
"""
    assert blamed(pytester, tests, passed=3) == []


WIDER = """
@pytest.fixture(scope="SCOPE", name="wider")
def _wider(request):
    inner = request.getfixturevalue("inner")
    opened, running = server(), process()
    yield
    if CLOSES:
        opened.close()
        running.kill()
        running.wait()

@pytest.fixture(scope="SCOPE")
def inner():
    event = threading.Event()
    started = threading.Thread(target=event.wait, name="inner")
    started.start()
    yield
    event.set()
    started.join()

class TestInClass:
    def test_first(self):
        pass

    def test_with(self, wider):
        pass

    def test_again(self, wider):
        pass

    def test_last(self):
        pass
"""


@pytest.mark.parametrize("scope", ["session", "package", "module", "class"])
def test_wider_fixtures_keep_what_they_started(pytester: pytest.Pytester, scope: str) -> None:
    tests = WIDER.replace("SCOPE", scope).replace("CLOSES", "True")
    assert blamed(pytester, tests, passed=4) == []


@pytest.mark.parametrize("scope", ["session", "module", "class"])
def test_a_wider_fixture_that_leaves_something_behind_is_named(pytester: pytest.Pytester, scope: str) -> None:
    tests = WIDER.replace("SCOPE", scope).replace("CLOSES", "False")
    (line,) = blamed(pytester, tests, passed=4, errors=1)
    fixture = rf"the {scope} fixture wider of test_\w+\.py(::TestInClass)?"
    assert re.fullmatch(f"test_last: {fixture} left behind: {PROCESS}; {SERVER}", line)


def test_a_test_is_blamed_beside_a_wider_fixture(pytester: pytest.Pytester) -> None:
    tests = """
@pytest.fixture(scope="module")
def wider():
    running = process()
    yield
    running.kill()
    running.wait()

def test_leaves(wider):
    process()

def test_after(wider):
    pass
"""
    (line,) = blamed(pytester, tests, passed=2, errors=1)
    assert re.fullmatch(f"test_leaves: the test left behind: {PROCESS}", line)


def test_multiprocessings_own_helper_may_stay(pytester: pytest.Pytester) -> None:
    tests = """
@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        yield pool

def test_pool(pool):
    pool.submit(os.getpid).result()

def test_own_pool():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
"""
    assert blamed(pytester, tests, passed=2) == []
