"""The recorded entry point is found and called again, however the program was started, or it is said why not."""

from __future__ import annotations

import pytest

from tests.support.replay_lab import ReplayLab

TOOL = """\
import asyncio, os, sys
import agentdbg

@agentdbg.tool(effect="read")
def look(order):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write("look\\n")
    if order == "bad":
        raise Unknown("no such order", 7)
    return {"order": order}

class Unknown(Exception):
    pass

"""
AGENT = """
@agentdbg.agent
def run(order, *more, limit=3, **options):
    try:
        look("bad")
    except Unknown as error:
        return [look(order), error.args, more, limit, options]
"""
CALL = "run('o-1', 'x', {'deep': (1, 2)}, limit=4, currency='EUR')"
GUARDED = f"\nif __name__ == '__main__':\n    print({CALL})\n"


def test_a_script_with_a_main_guard(lab: ReplayLab) -> None:
    lab.record(TOOL + AGENT + GUARDED)
    assert lab.replay().verdict == "identical"


def test_a_script_that_calls_its_agent_while_it_is_imported(lab: ReplayLab) -> None:
    lab.record(TOOL + AGENT + f"\nprint({CALL})\nopen(os.environ['OUTSIDE'] + '/after', 'a').write('x')\n")
    outcome = lab.replay()
    assert outcome.verdict == "identical"  # what comes behind the agent's end is no part of its run, and is not done
    lab.record(TOOL + AGENT + f"\nopen(os.environ['OUTSIDE'] + '/before', 'a').write('x')\nprint({CALL})\n")
    assert lab.replay("run-2").verdict == "refused"
    lab.record(TOOL + AGENT + f"\nprint({CALL})\n")
    assert lab.replay("run-3").verdict == "identical"


def test_a_script_whose_call_changed_is_told_so(lab: ReplayLab) -> None:
    lab.record(TOOL + AGENT + "\nrun('first')\n")
    lab.write(TOOL + AGENT + "\nrun('second')\n")
    outcome = lab.replay()
    assert (outcome.verdict, "the call has changed" in outcome.reason) == ("not_replayable", True)


LATE = """
import threading, time
import agentdbg

@agentdbg.tool(effect="write")
def tell(word):
    time.sleep(0.02)
    return word

def late():
    time.sleep(0.05)
    tell("late"), tell("later")

@agentdbg.agent
def run():
    thread = threading.Thread(target=late)
    thread.start()
    return tell("first"), thread.name
"""


@pytest.mark.parametrize("call", [GUARDED.replace(CALL, "run()"), "\nrun()\n"])
def test_threads_that_go_on_behind_the_end_of_their_agent(lab: ReplayLab, call: str) -> None:
    lab.record(LATE + call)
    outcome = lab.replay()
    assert (outcome.verdict, outcome.served) == ("identical", 3), outcome.reason


def test_a_script_whose_agent_fails_while_it_is_imported(lab: ReplayLab) -> None:
    lab.record(TOOL + AGENT.replace("except Unknown", "except KeyError") + f"\nprint({CALL})\n", ok=False)
    assert lab.replay().verdict == "identical"


def test_several_runs_of_an_unguarded_script(lab: ReplayLab) -> None:
    lab.record(TOOL + AGENT + "\nfor order in ('first', 'second'):\n    run(order)\n")
    assert lab.replay("run-1").verdict == "identical"
    (other,) = {path.name for path in (lab.store / "runs").iterdir()} - {"run-1", "run-1.exact-1"}
    outcome = lab.replay(other)
    assert outcome.verdict == "not_replayable"
    assert "program.py calls its agent while it is imported" in outcome.reason
    assert "__main__" in outcome.reason


def test_a_module_of_a_package_run_with_m(lab: ReplayLab) -> None:
    lab.write("", "shop/__init__.py")
    lab.write("VALUE = 3\n", "shop/prices.py")
    text = TOOL + "from shop.prices import VALUE\n" + AGENT + GUARDED
    lab.record(text, name="shop/desk.py", command=["-m", "shop.desk"])
    assert lab.replay().verdict == "identical"
    lab.record(text, name="shop/__main__.py", command=["-m", "shop"])
    assert lab.replay("run-2").verdict == "identical"


def test_an_agent_that_a_script_imports(lab: ReplayLab) -> None:
    lab.write(TOOL + AGENT, "desk_agent.py")
    lab.record(f"from desk_agent import run\nprint({CALL})\n")
    assert lab.replay().verdict == "identical"


METHODS = """
class Desk:
    def __init__(self, name="main"):
        self.name = name

    @agentdbg.agent{options}
    def run(self, order):
        return self.name, look(order)

    @staticmethod
    @agentdbg.agent
    def fixed(order):
        return look(order)

    @classmethod
    @agentdbg.agent
    def of_class(cls, order):
        return cls.__name__, look(order)

if __name__ == "__main__":
    {call}
"""


def test_methods(lab: ReplayLab) -> None:
    lab.record(TOOL + METHODS.format(options="", call="Desk.fixed('a')"))
    assert lab.replay("run-1").verdict == "identical"
    lab.record(TOOL + METHODS.format(options="", call="Desk.of_class('a')"))
    assert lab.replay("run-2").verdict == "identical"
    lab.record(TOOL + METHODS.format(options="", call="Desk().run('a')"))
    outcome = lab.replay("run-3")
    assert outcome.verdict == "not_replayable"
    assert "Desk.run is a method" in outcome.reason
    assert "factories={'self'" in outcome.reason


def test_a_factory_makes_what_cannot_be_written_down(lab: ReplayLab) -> None:
    agent = """
class Client:
    pass

@agentdbg.agent{options}
def run(order, client):
    return look(order), type(client).__name__

if __name__ == "__main__":
    print(run("a", Client()))
"""
    lab.record(TOOL + agent.format(options=""))
    outcome = lab.replay()
    assert outcome.verdict == "not_replayable"
    assert "$.client" in outcome.reason
    lab.record(TOOL + agent.format(options="(factories={'client': lambda: Client()})"))
    assert lab.replay("run-2").verdict == "identical"


def test_a_local_function_cannot_be_called_again(lab: ReplayLab) -> None:
    lab.record(
        TOOL + "def make():\n    @agentdbg.agent\n    def run():\n        return look('a')\n    return run\nmake()()\n"
    )
    outcome = lab.replay()
    assert outcome.verdict == "not_replayable"
    assert "local function" in outcome.reason


def test_a_program_that_is_gone_or_has_changed(lab: ReplayLab) -> None:
    lab.record(TOOL + AGENT + GUARDED)
    lab.write(TOOL + AGENT.replace("def run", "def walk") + "\n")
    outcome = lab.replay()
    assert outcome.verdict == "not_replayable"
    assert "has no run any more" in outcome.reason
    lab.write(TOOL + AGENT.replace("def run(order, *more,", "def run(order, customer, *more,"))
    assert "new parameter 'customer'" in lab.replay().reason
    lab.write(TOOL + AGENT.replace("order, *more, limit=3, **options", "order") + "\n")
    assert "has no parameter" in lab.replay().reason
    lab.write("import a_module_that_is_not_there\n" + TOOL + AGENT)
    assert "a_module_that_is_not_there" in lab.replay().reason
    lab.program.unlink()
    outcome = lab.replay()
    assert outcome.verdict == "not_replayable"
    assert "is not there" in outcome.reason


GENERATOR = """
@agentdbg.agent
def run(order):
    for i in range(5):
        yield look(f"{order}-{i}")
    return "all"

@agentdbg.agent
async def arun(order):
    for i in range(5):
        yield look(f"{order}-{i}")

async def some(count):
    source = arun("a")
    found = [await anext(source) for _ in range(count)]
    await source.aclose()
    return found

async def every():
    return [item async for item in arun("a")]

if __name__ == "__main__":
    MAIN
"""


@pytest.mark.parametrize(
    "main",
    [
        "list(run('a'))",
        "source = run('a'); next(source); next(source); source.close()",
        "asyncio.run(every())",
        "asyncio.run(some(2))",
    ],
)
def test_generators_are_consumed_as_far_as_then(lab: ReplayLab, main: str) -> None:
    lab.record(TOOL + GENERATOR.replace("MAIN", main))
    outcome = lab.replay()
    assert outcome.verdict == "identical", outcome.reason


def test_argv_and_working_directory_are_as_they_were(lab: ReplayLab) -> None:
    agent = "@agentdbg.agent\ndef run():\n    return look([sys.argv[1:], os.path.basename(os.getcwd()) != '/'])\n"
    lab.record(TOOL + agent + "\nif __name__ == '__main__':\n    print(run())\n", "--order", "o-1")
    assert lab.replay().verdict == "identical"
