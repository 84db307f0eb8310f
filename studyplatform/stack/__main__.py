"""The supervisor as a process without Django: `python -m studyplatform.stack supervise|up|down|status`."""

import argparse
import json
import sys

from studyplatform.stack import control, demo
from studyplatform.stack.faults import StackFault
from studyplatform.stack.plan import Wanted, parse_groups


def say(line: str) -> None:
    print(line, flush=True)


def parser() -> argparse.ArgumentParser:
    """The command line, the same as that of `manage.py stack`."""
    top = argparse.ArgumentParser(prog="manage.py stack", description="The local stack: start, watch and stop it.")
    add_commands(top)
    return top


def add_commands(top: argparse.ArgumentParser) -> None:
    port_help = "port for the pages (default: the last one, else 8000)"
    commands = top.add_subparsers(dest="action", required=True)
    up = commands.add_parser("up", help="start what is not running, and migrate")
    up.add_argument("--detach", action="store_true", help="run in the background; return when everything is ready")
    up.add_argument("--only", metavar="GROUPS", help="comma-separated: postgres, redis, llm, web, workers")
    up.add_argument("--no-migrate", action="store_true", help="leave the database as it is")
    up.add_argument("--port", type=int, help=port_help)
    commands.add_parser("down", help="stop everything")
    status = commands.add_parser("status", help="one line per service; exit status 0 when all are ready")
    status.add_argument("--json", action="store_true")
    commands.add_parser("postgres", help="print PGBIN and DATABASE_URL as shell settings, for backups")
    shown = commands.add_parser("demo", help="start everything, load the demo study and print the links")
    shown.add_argument("--port", type=int, help=port_help)
    commands.add_parser("supervise", help=argparse.SUPPRESS).add_argument("wanted")


def run(options: argparse.Namespace) -> int:
    """Exit status: 0 when it was done."""
    if options.action == "supervise":
        control.supervise(Wanted.of(json.loads(options.wanted)), say)
    elif options.action == "up":
        wanted = Wanted(parse_groups(options.only), migrate=not options.no_migrate, web_port=options.port)
        (control.start_detached if options.detach else control.supervise)(wanted, say)
    elif options.action == "demo":
        demo.run(Wanted(demo=True, web_port=options.port), say)
    elif options.action == "postgres":
        say("\n".join(control.postgres_lines()))
    elif options.action == "down":
        control.stop_running(say)
    else:
        document = control.status()
        say(json.dumps(document) if options.json else "\n".join(control.status_lines(document)))
        return 0 if document["running"] else 1
    return 0


def main(arguments: list[str] | None = None) -> int:
    try:
        return run(parser().parse_args(arguments))
    except StackFault as fault:
        print(fault, file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
