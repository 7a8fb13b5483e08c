"""The table of actions. Keys, palette, help screen and tests all reach the methods named here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Place(StrEnum):
    """Which screen an action belongs to."""

    RUNS = "runs"
    DEBUGGER = "debugger"
    SIDE = "side by side"
    PLAN = "replay dialog"
    REPLAY = "live replay"
    ASK = "ask"


class Owner(StrEnum):
    """Who carries an action out: the place's own session, headless, or the screen, which knows focus and size.

    The session is of the run, of the replay dialog, or of the live replay.
    """

    SESSION = "session"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing the user can do.

    Attributes:
        id: Stable name, used in the ``[keys]`` table of the configuration file.
        keys: Keys as people write them; the first is the one shown.
        help: What it does, in a few words.
        group: Heading on the help screen.
        method: Method of the owner that does it.
        owner: Session or screen.
        places: Screens that have it.
        label: Word for the footer, or empty when the footer leaves it out.
    """

    id: str
    keys: tuple[str, ...]
    help: str
    group: str
    method: str
    owner: Owner = Owner.SESSION
    places: tuple[Place, ...] = (Place.DEBUGGER,)
    label: str = ""


_ALL: Final = (Place.RUNS, Place.DEBUGGER, Place.SIDE, Place.PLAN, Place.REPLAY, Place.ASK)
_PANNED: Final = (Place.RUNS, Place.DEBUGGER, Place.SIDE, Place.REPLAY, Place.ASK)
_BOTH: Final = (Place.RUNS, Place.DEBUGGER)
_DETAIL: Final = (Place.DEBUGGER, Place.SIDE)
_RUNS: Final = (Place.RUNS,)
_SIDE: Final = (Place.SIDE,)
_PLAN: Final = (Place.PLAN,)
_REPLAY: Final = (Place.REPLAY,)
_TWO_PANES: Final = (Place.DEBUGGER, Place.SIDE, Place.PLAN, Place.REPLAY, Place.ASK)
_ASK: Final = (Place.ASK,)
_SCREEN: Final = Owner.SCREEN

# One action, one line.
# fmt: off
ACTIONS: Final[tuple[Action, ...]] = (
    Action("step.over", ("n", "F10"), "next step over children (search: next hit)", "Step", "forward", label="next"),
    Action("step.back", ("p", "N"), "previous step over children (search: previous hit)", "Step", "backward"),
    Action("step.into", ("s",), "next step, into children", "Step", "into", label="into"),
    Action("step.into_back", ("S",), "previous step, into children", "Step", "into_back"),
    Action("step.up", ("u",), "up to the parent step", "Step", "up"),
    Action("stop.next", ("c", "F5"), "next bookmark, breakpoint or divergence", "Step", "stops.next"),
    Action("stop.previous", ("C",), "previous bookmark, breakpoint or divergence", "Step", "stops.previous"),
    Action("error.next", ("e",), "next error", "Step", "next_error", label="error"),
    Action("error.previous", ("E",), "previous error", "Step", "previous_error"),
    Action("write.next", ("w",), "next write or external call", "Step", "next_write", label="write"),
    Action("write.previous", ("W",), "previous write or external call", "Step", "previous_write"),
    Action("diff.next", ("d",), "first difference from the compared run, then the next", "Compare", "diffs.next",
           label="diff"),
    Action("diff.previous", ("D",), "previous difference from the compared run", "Compare", "diffs.previous"),
    Action("compare", ("=",), "compare with another run, or with its twin", "Compare", "open_compare", _SCREEN,
           label="compare"),
    Action("diff.view", ("v",), "differences side by side, unified or as a table", "Compare", "diffs.cycle_view"),
    Action("side", ("|",), "both runs side by side, with the six answers", "Compare", "open_side", _SCREEN),
    Action("side.runs", ("v", "=", "|"), "compare the two selected runs side by side", "Runs", "open_side", _SCREEN,
           _RUNS, label="compare"),
    Action("side.next", ("d", "n", "c"), "next difference", "Step", "next_difference", _SCREEN, _SIDE, label="diff"),
    Action("side.previous", ("D", "N", "p", "C"), "previous difference", "Step", "previous_difference", _SCREEN, _SIDE),
    Action("side.answers", ("a",), "the six answers; enter goes to the evidence", "Step", "focus_answers", _SCREEN,
           _SIDE, label="answers"),
    Action("side.first", ("1",), "open the first run at this step", "View", "open_first", _SCREEN, _SIDE,
           label="first run"),
    Action("side.second", ("2",), "open the second run at this step", "View", "open_second", _SCREEN, _SIDE,
           label="second"),
    Action("side.view", ("v",), "differences side by side, unified or as a table", "View", "cycle_view", _SCREEN, _SIDE,
           label="layout"),
    Action("replay", ("r",), "replay this run: choose how, see the plan", "Replay", "open_replay", _SCREEN,
           label="replay"),
    Action("replay.edited", ("R",), "replay with a value edited", "Replay", "open_replay_edited", _SCREEN),
    Action("plan.start", ("enter",), "start the replay", "Replay", "start", _SCREEN, _PLAN, label="start"),
    Action("plan.change", ("l", "right", "space"), "next value of the choice", "Replay", "change", places=_PLAN,
           label="change"),
    Action("plan.change_back", ("h", "left"), "previous value of the choice", "Replay", "change_back", places=_PLAN),
    Action("plan.type", ("e",), "type a value; where none is typed, an edit",
           "Replay", "type_value", _SCREEN, _PLAN, label="type"),
    Action("plan.editor", ("E", "ctrl+e"), "the step's recorded value in $EDITOR, as an edit",
           "Replay", "open_editor", _SCREEN, _PLAN, label="edit value"),
    Action("live.pause", ("P",), "pause before the next call", "Replay", "pause", places=_REPLAY, label="pause"),
    Action("live.step", ("n", "F10"), "let one call go, pause before the next", "Replay", "step", places=_REPLAY,
           label="step"),
    Action("live.continue", ("c", "F5"), "continue to the next breakpoint", "Replay", "cont", places=_REPLAY,
           label="continue"),
    Action("live.run_to", ("T",), "run to the selected step", "Replay", "run_to_here", places=_REPLAY,
           label="run to"),
    Action("live.stop", ("x",), "stop the replay; what there is of it is kept", "Replay", "stop", places=_REPLAY,
           label="stop"),
    Action("live.breakpoint", ("B", "F9"), "breakpoint on calls of this kind and name", "Replay",
           "toggle_breakpoint", places=_REPLAY),
    Action("live.break_error", ("E",), "breakpoint on calls that failed while recording", "Replay",
           "toggle_error_stop", places=_REPLAY),
    Action("live.break_divergence", ("D",), "breakpoint on the first divergence", "Replay",
           "toggle_divergence_stop", places=_REPLAY),
    Action("live.inspect", ("!",), "pdb where it is paused: p NAME, w, up, any expression", "Replay", "open_inspect",
           _SCREEN, _REPLAY, label="pdb"),
    Action("live.pdb", ("I",), "pdb on the whole terminal, with n, s, c: q comes back", "Replay", "open_pdb", _SCREEN,
           _REPLAY),
    Action("live.decide", ("d",), "decide about the held call: live, serve, refuse, result=JSON, arguments=JSON",
           "Replay", "open_decide", _SCREEN, _REPLAY, label="decide"),
    Action("live.answer", ("a",), "answer what the replay asks", "Replay", "open_answer", _SCREEN, _REPLAY,
           label="answer"),
    Action("live.follow", ("F",), "follow where the replay is", "Replay", "toggle_follow", places=_REPLAY),
    Action("live.open", ("enter",), "when it is over: both runs side by side", "Replay", "open_result", _SCREEN,
           _REPLAY, label="compare"),
    Action("live.again", ("r",), "when it is over: replay again, with the same choices", "Replay", "again", _SCREEN,
           _REPLAY, label="again"),
    Action("state.change", ("a",), "last change of the selected state field, backward in time", "Step", "last_change",
           _SCREEN),
    Action("follow", ("F",), "follow the tail of a live run", "Step", "toggle_follow", label="follow"),
    Action("bookmark", ("m",), "set or remove a bookmark on this step", "Step", "stops.toggle_bookmark"),
    Action("breakpoint", ("B", "F9"), "breakpoint on every step of this kind and name", "Step",
           "stops.toggle_breakpoint"),
    Action("note", (";",), "write a note on this step", "Run", "open_note", _SCREEN),
    Action("ask", ("o",), "ask this model call again: its price first, no agent code", "Run", "open_ask", _SCREEN),
    Action("ask.start", ("enter",), "send it, at the price shown", "Ask", "start", _SCREEN, _ASK, label="send"),
    Action("ask.more", ("+",), "one sample more", "Ask", "more", places=_ASK, label="more"),
    Action("ask.fewer", ("-",), "one sample less", "Ask", "fewer", places=_ASK, label="fewer"),
    Action("ask.model", ("m",), "ask another model", "Ask", "open_model", _SCREEN, _ASK, label="model"),
    Action("ask.edit", ("e",), "change one place of the request", "Ask", "open_edit", _SCREEN, _ASK, label="edit"),
    Action("ask.editor", ("E", "ctrl+e"), "the whole request in $EDITOR", "Ask", "edit_request", _SCREEN, _ASK),
    Action("ask.address", ("u",), "send it to another address", "Ask", "open_address", _SCREEN, _ASK,
           label="address"),
    Action("ask.stop", ("x",), "wait no longer; what came is kept", "Ask", "stop", places=_ASK, label="stop"),
    Action("ask.again", ("r",), "back to the price, to ask once more", "Ask", "again", places=_ASK, label="again"),
    Action("run.open", ("enter",), "open the run", "Runs", "open_run", _SCREEN, _RUNS, label="open"),
    Action("run.filter", ("f",), "filter the runs as you type", "Runs", "open_filter", _SCREEN, _RUNS, label="filter"),
    Action("run.select", ("space",), "select the run", "Runs", "select_run", _SCREEN, _RUNS, label="select"),
    Action("run.reload", ("ctrl+l",), "read the store again", "Runs", "reload", _SCREEN, _RUNS),
    Action("row.down", ("j", "down"), "next row", "Move", "row_down", _SCREEN, _ALL),
    Action("row.up", ("k", "up"), "previous row", "Move", "row_up", _SCREEN, _ALL),
    Action("pan.left", ("h", "left"), "pan left", "Move", "pan_left", _SCREEN, _PANNED),
    Action("pan.right", ("l", "right"), "pan right", "Move", "pan_right", _SCREEN, _PANNED),
    Action("row.first", ("g", "home"), "first row", "Move", "first_row", _SCREEN, _ALL),
    Action("row.last", ("G", "end"), "last row (follows when live)", "Move", "last_row", _SCREEN, _ALL),
    Action("page.down", ("pagedown",), "page down", "Move", "page_down", _SCREEN, _ALL),
    Action("page.up", ("pageup", "b"), "page up", "Move", "page_up", _SCREEN, _ALL),
    Action("page.down_space", ("space",), "page down", "Move", "page_down", _SCREEN, _DETAIL),
    Action("half.down", ("ctrl+d",), "half a page down", "Move", "half_down", _SCREEN, _ALL),
    Action("half.up", ("ctrl+u",), "half a page up", "Move", "half_up", _SCREEN, _ALL),
    Action("search", ("/",), "search steps by name, kind, error", "Search", "open_search", _SCREEN, label="search"),
    Action("filter", ("f",), "show only the steps that hold some words, as you type", "Search", "open_filter", _SCREEN),
    Action("search.next", (".",), "next hit", "Search", "next_hit"),
    Action("search.previous", (",",), "previous hit", "Search", "previous_hit"),
    Action("focus", ("tab",), "move between steps and detail", "View", "switch_focus", _SCREEN, _TWO_PANES,
           label="focus"),
    Action("focus.back", ("shift+tab",), "move between detail and steps", "View", "switch_focus", _SCREEN, _TWO_PANES),
    Action("tab.summary", ("0",), "Summary: task, answer, effects, holes", "View", "show_summary", _SCREEN),
    Action("tab.input", ("1",), "Input: segments of a model call, arguments of a tool", "View", "show_input", _SCREEN),
    Action("tab.output", ("2",), "Output: answer, tool calls, stop reason, usage", "View", "show_output", _SCREEN),
    Action("tab.state", ("3",), "State: the checkpoint at or before this step", "View", "show_state", _SCREEN),
    Action("tab.tool", ("4",), "Tool: arguments, result, effect, fingerprint", "View", "show_tool", _SCREEN),
    Action("tab.diff", ("5",), "Diff: this step beside its mate in the compared run", "View", "show_diff", _SCREEN),
    Action("tab.versions", ("6",), "Versions: code, prompts, models, environment", "View", "show_versions", _SCREEN),
    Action("tab.raw", ("7",), "Raw: the record and its bodies as stored", "View", "show_raw", _SCREEN),
    Action("zoom", ("z",), "zoom the focused pane", "View", "toggle_zoom", _SCREEN,
           (Place.DEBUGGER, Place.SIDE, Place.REPLAY, Place.ASK), label="zoom"),
    Action("expand", ("enter",), "open or close a section; go to the detail", "View", "open_close", _SCREEN, _DETAIL),
    Action("wrap", ("\\",), "wrap long lines or pan them", "View", "toggle_wrap", _SCREEN, _DETAIL),
    Action("copy", ("y",), "copy: value, path, curl, Python, command; again: the value", "Copy", "open_copies", _SCREEN,
           _DETAIL, label="copy"),
    Action("copy.body", ("Y",), "copy the whole body", "Copy", "copy_body", _SCREEN, _DETAIL),
    Action("editor", ("ctrl+e",), "open the body in $EDITOR", "Copy", "open_editor", _SCREEN, _DETAIL),
    Action("flag", ("!",), "flag this run as bad, with a reason", "Run", "open_flag", _SCREEN, _BOTH),
    Action("help", ("?", "F1"), "all keys, filtered as you type", "Run", "open_help", _SCREEN, _ALL, label="help"),
    Action("palette", (":", "ctrl+p"), "run a command by name", "Run", "open_palette", _SCREEN, _ALL),
    Action("back", ("q", "escape"), "back; at the root: quit", "Run", "back", _SCREEN, _ALL, label="back"),
    Action("quit", ("ctrl+q",), "quit", "Run", "quit", _SCREEN, _ALL),
    Action("interrupt", ("ctrl+c",), "say which keys stop, leave and quit", "Run", "interrupt", _SCREEN, _ALL),
)
# fmt: on


def actions_of(place: Place) -> tuple[Action, ...]:
    """The actions that a screen has, in table order."""
    return tuple(action for action in ACTIONS if place in action.places)


def action(action_id: str) -> Action:
    """The action with that id.

    Raises:
        KeyError: There is none.
    """
    for entry in ACTIONS:
        if entry.id == action_id:
            return entry
    raise KeyError(action_id)
