"""The program's entry: streams, errors and exit statuses."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from agentdbg.cli.commands import root
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation, complain
from agentdbg.store.files import StoreError

PROGRAM = "agentdbg"
COMPLETE_VARIABLE = "_AGENTDBG_COMPLETE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    _complete_streams()
    _use_utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, PROGRAM, COMPLETE_VARIABLE, instruction)
    invocation = Invocation()
    try:
        status = _run(arguments, invocation)
        sys.stdout.flush()
        return status
    except BaseException as error:
        return _report(error, invocation)
    finally:
        invocation.close()


def _run(arguments: list[str], invocation: Invocation) -> int:
    try:
        with root.make_context(PROGRAM, arguments, obj=invocation) as ctx:
            result: object = root.invoke(ctx)
    except click.exceptions.Exit as finished:
        return finished.exit_code
    return result if isinstance(result, int) else Status.SAME


def _report(error: BaseException, invocation: Invocation) -> int:
    """Say what went wrong, in one line, and give the exit status for it."""
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return invocation.status
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else Status.TROUBLE
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Status.INTERRUPTED
    if invocation.debug:
        _print_traceback(error)
    line, status = _line(error, invocation)
    complain(line)
    return status


def _line(error: BaseException, invocation: Invocation) -> tuple[str, Status]:
    if isinstance(error, Trouble):
        from agentdbg.i18n.phrases import phrase

        return phrase(str(error)), error.status
    if isinstance(error, StoreError):
        return str(error), Status.NOTHING
    if isinstance(error, click.UsageError):
        return _usage_line(error, invocation), Status.TROUBLE
    if isinstance(error, click.ClickException):
        return error.format_message(), Status.TROUBLE
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{(error.strerror or str(error)).lower()}; --debug shows where", Status.TROUBLE
    return f"unexpected {type(error).__name__}: {error}; --debug shows where", Status.TROUBLE


def _usage_line(error: click.UsageError, invocation: Invocation) -> str:
    """What is wrong with the command line, and that its first word was taken for a run, if it was."""
    text = " ".join(error.format_message().split()).rstrip(".").replace("'. (Did you", "' (did you")
    text = text[:1].lower() + text[1:]
    meant = ""
    if invocation.bare_word is not None:
        from agentdbg.i18n.catalogue import message

        text += message("error.taken_for_run", word=invocation.bare_word)
        meant = invocation.command_meant()
    where = error.ctx.command_path if error.ctx else PROGRAM
    return text + (meant or f"; see '{where} --help'")


def _print_traceback(error: BaseException) -> None:
    import traceback

    from agentdbg.model.safe_text import safe_block

    print(safe_block("".join(traceback.format_exception(error))), file=sys.stderr)


def _complete_streams() -> None:
    """Give a program that was started with closed streams others that lead nowhere.

    Otherwise the first file that it opens takes their number, and what is printed goes into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  # for good


def _use_utf8() -> None:
    """Write UTF-8 whatever the locale; what is no text at all comes out escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _silence_stdout() -> None:
    """Let the interpreter's last flush go nowhere: whoever read our output has gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
