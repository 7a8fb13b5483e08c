"""Clock, uuid and random: values are noted by where they were asked for, and nothing else about them changes."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from agentdbg.recording.datetime_pins import _freeze_moment
from tests.support.recorded import only_run, run


def draws(folder: Path) -> list[tuple[str, str]]:
    """Source and site of every value noted, in order."""
    found = only_run(folder / "store").events("draws")
    return [(source, site) for event in found for source, site, _ in event["draws"]]


def test_every_source_is_noted_by_file_and_function(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        from datetime import date, datetime, timezone
        from random import choice, gauss, getrandbits, randint, sample, shuffle
        from random import random as early
        from time import monotonic, perf_counter, time, time_ns
        from uuid import uuid1, uuid4
        import random, tempfile, time as clock, uuid
        from datetime import datetime as d
        now = d.now
        import agentdbg

        class Mine(datetime):
            pass

        def times():
            time(), monotonic(), perf_counter(), time_ns()
            clock.time(), clock.monotonic_ns()

        def rarer():
            clock.process_time(), clock.thread_time_ns(), clock.clock_gettime_ns(clock.CLOCK_REALTIME)
            clock.clock_gettime(clock.CLOCK_PROCESS_CPUTIME_ID), tempfile.mktemp()
            try:
                clock.clock_gettime([])
            except TypeError:
                pass

        def dates():
            datetime.now(), datetime.now(timezone.utc), datetime.utcnow(), now()
            assert type(Mine.now()) is Mine and type(Mine.utcnow()) is Mine

        def todays():
            datetime.today(), date.today()
            assert type(Mine.today()) is Mine

        def ids():
            uuid1(), uuid4(), uuid.uuid4()

        def numbers():
            early(), random.random(), getrandbits(8), randint(1, 6), choice("ab"), gauss(0, 1)
            random.uniform(0, 1)
            shuffle([1, 2]), sample(range(9), 2)

        @agentdbg.agent
        def desk():
            times(), rarer(), dates(), todays(), ids(), numbers()

        desk()
        """,
        flags=("-W", "ignore::DeprecationWarning"),
    )
    assert done.stderr == ""
    noted = draws(tmp_path)
    by_site = {site: [source for source, at in noted if at == site] for _, site in noted}
    assert by_site["agent.py:times"] == ["time", "monotonic", "perf_counter", "time_ns", "time", "monotonic_ns"]
    expected = ["process_time", "thread_time_ns", "time_ns", "clock_gettime.2", "tempfile"]
    assert by_site["agent.py:rarer"] == expected
    assert by_site["agent.py:dates"] == [
        "datetime.now",
        "datetime.now",
        "datetime.utcnow",
        "datetime.now",
        "datetime.now",
        "datetime.utcnow",
    ]
    assert by_site["agent.py:todays"] == ["time"] * 3
    assert by_site["agent.py:ids"] == ["uuid1", "uuid4", "uuid4"]
    numbers = by_site["agent.py:numbers"]
    assert numbers[:3] == ["random", "random", "getrandbits.8"]
    assert set(numbers) <= {"random"} | {f"getrandbits.{k}" for k in (1, 2, 3, 4, 8)} and len(numbers) >= 10


def test_values_are_noted_as_they_were(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import datetime, random, time, uuid
        import agentdbg

        @agentdbg.agent
        def desk():
            now = datetime.datetime.now
            for value in (time.time_ns(), now(datetime.timezone.utc), uuid.uuid4(), random.getrandbits(70)):
                print(value.isoformat() if isinstance(value, datetime.datetime) else value)

        desk()
        """,
    )
    (event,) = only_run(tmp_path / "store").events("draws")
    stamp, moment, identity, bits = done.stdout.split("\n")[:4]
    assert [value for _, _, value in event["draws"]] == [int(stamp), moment, identity, hex(int(bits))]


def test_libraries_and_tools_are_left_alone(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import logging, threading, time, uuid
        import agentdbg

        @agentdbg.tool
        def inside():
            return time.time(), str(uuid.uuid4())

        @agentdbg.agent
        def desk():
            inside()
            logging.getLogger("x").warning("hello")
            tempfile.mkdtemp()
            threading.Event().wait(0.001)

        time.time()
        desk()
        time.time()
        """,
    )
    assert draws(tmp_path) == []


SEEDED = """
import random, sys
import agentdbg

@agentdbg.agent
def desk():
    random.seed(42)
    items = list(range(9))
    random.shuffle(items)
    out = [items, random.random(), random.randint(1, 10**30), random.choice("abc"), random.gauss(0, 1)]
    out += random.sample(range(99), 3)
    state = random.getstate()
    out += [random.uniform(1, 2), random.getrandbits(99), random.randbytes(5), random.choices("xyz", k=4)]
    out.append(random.betavariate(1, 2))
    random.setstate(state)
    return out + [random.uniform(1, 2), random.triangular(), random.expovariate(2), random.vonmisesvariate(1, 1)]

random.seed(7)
print(random.random(), random.randrange(10**9))
print(desk())
print(random.random(), random.randrange(10**9))
"""


def test_a_seed_gives_the_numbers_that_it_gives_without_a_recorder(tmp_path: Path) -> None:
    recorded, plain = run(tmp_path, SEEDED), run(tmp_path, SEEDED, env={"AGENTDBG": "off"})
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, "")


NOTICING = """
import copy, datetime, inspect, pickle, random, time, typing, uuid
import agentdbg

@agentdbg.agent
def desk():
    functions = [time.time, time.monotonic, time.perf_counter_ns, uuid.uuid1, uuid.uuid4, datetime.datetime.now,
                 datetime.datetime.utcnow, datetime.date.today, random.randint, random.shuffle]
    for function in functions:
        again = pickle.loads(pickle.dumps(function))
        print(function.__name__, getattr(again, "__name__", None), callable(function))
    print(pickle.loads(pickle.dumps(random.random))() < 1, pickle.loads(pickle.dumps(random.getrandbits))(3) < 8)
    print(inspect.signature(uuid.uuid1), inspect.signature(uuid.uuid4))
    print(inspect.getsource(uuid.uuid4)[:12])
    print(type(copy.deepcopy(random._inst)).__name__, isinstance(random._inst, random.Random))
    print(type(time.time()), type(time.time_ns()), type(datetime.datetime.now()), type(uuid.uuid1()))
    print(datetime.datetime.now(datetime.timezone.utc).tzinfo, datetime.datetime.now(tz=None).tzinfo)
    for wrong in (lambda: datetime.datetime.utcnow(1), lambda: datetime.datetime.now(1), lambda: time.time(1),
                  lambda: random.getrandbits(-1), lambda: uuid.uuid4(1), lambda: datetime.datetime.now(a=1)):
        try:
            wrong()
        except Exception as error:
            print(type(error).__name__)
    print(uuid.uuid4().version, uuid.uuid1(node=5, clock_seq=6).node, time.get_clock_info("time").monotonic)

desk()
"""


def test_what_a_program_can_see_of_these_functions_is_as_before(tmp_path: Path) -> None:
    flags = ("-W", "ignore::DeprecationWarning")
    recorded, plain = (
        run(tmp_path, NOTICING, flags=flags),
        run(tmp_path, NOTICING, env={"AGENTDBG": "off"}, flags=flags),
    )
    assert recorded.stderr == "" and plain.stderr == ""
    assert recorded.stdout == plain.stdout


def test_odd_callers_are_no_obstacle(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import threading, time
        import agentdbg

        @agentdbg.agent
        def desk():
            exec("clock()", {"__name__": 5, "clock": time.time})
            exec("clock()", {"clock": time.time})
            thread = threading.Thread(target=time.time)
            thread.start()
            thread.join()
            return sum(map(lambda _: time.time() > 0, range(3))), max([1, 2], key=lambda _: time.time())

        print(desk())
        """,
    )
    assert (done.stdout.startswith("(3, "), done.stderr) == (True, "")


def test_a_million_draws_are_cut_and_say_so(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import random
        import agentdbg

        @agentdbg.agent
        def desk():
            return sum(random.random() for _ in range(1_000_000)) > 0

        print(desk())
        """,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    found = only_run(tmp_path / "store")
    assert len(draws(tmp_path)) == 200_000
    (hole,) = found.events("hole")
    assert hole["what"] == "clock and random values are not pinned from here: too many"
    size = sum(path.stat().st_size for path in (tmp_path / "store").rglob("*.jsonl"))
    assert size < 20_000_000


def test_moments_in_a_doubled_hour_keep_which_one_they_are() -> None:
    moment = dt.datetime(2025, 10, 26, 2, 30, fold=1)
    assert _freeze_moment(moment) == "2025-10-26T02:30:00/1"
    assert _freeze_moment(moment.replace(fold=0)) == "2025-10-26T02:30:00"


CALENDAR = """
import time
import agentdbg
from time import strftime

@agentdbg.agent
def desk():
    strftime("%H"), time.strftime("%Y"), time.localtime(), time.gmtime(None), time.ctime(), time.asctime()
    print(time.strftime("%Y", time.gmtime(0)), time.gmtime(86400).tm_mday, time.asctime(time.gmtime(0)), time.ctime(0))
    for wrong in (lambda: time.strftime(), lambda: time.strftime(1), lambda: time.gmtime("x"),
                  lambda: time.asctime(None), lambda: time.strftime("%Y", None), lambda: time.ctime(1, 2)):
        try:
            wrong()
        except Exception as error:
            print(type(error).__name__)

desk()
"""


def test_a_date_written_out_is_a_read_of_the_clock(tmp_path: Path) -> None:
    recorded, plain = run(tmp_path, CALENDAR), run(tmp_path, CALENDAR, env={"AGENTDBG": "off"})
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, "")
    assert [found for found in draws(tmp_path) if "lambda" not in found[1]] == [("time", "agent.py:desk")] * 6


IN_A_CLASS = """
import random, time, uuid
import agentdbg
import logging

class Limiter:
    clock, precise, stamp, sleep = time.monotonic, time.perf_counter, time.strftime, time.sleep
    draw = random.random

    def ask(self):
        self.sleep(0)
        return [type(x).__name__ for x in (self.clock(), self.precise(), self.stamp("%Y"), self.draw())]

@agentdbg.agent
def desk():
    print(Limiter().ask(), logging.Formatter("%(asctime)s").format(logging.makeLogRecord({"msg": "x"}))[:2])

desk()
"""


def test_in_a_class_body_a_clock_becomes_no_method(tmp_path: Path) -> None:
    recorded, plain = run(tmp_path, IN_A_CLASS), run(tmp_path, IN_A_CLASS, env={"AGENTDBG": "off"})
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, "")
