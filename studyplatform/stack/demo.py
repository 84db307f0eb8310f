"""The demonstration: everything started, the demo study loaded, four links to click.

The links are printed as soon as the pages answer, even while the chat model is still loading; the status lines say so.
What to print is prepared by `manage.py demo --people`, a step of the stack, which leaves it in `demo.json`.
"""

from collections.abc import Mapping

from studyplatform.stack import control
from studyplatform.stack.places import Places, read_json
from studyplatform.stack.plan import Wanted
from studyplatform.stack.supervisor import Say

ROLES = ("researcher", "participant", "annotator", "reviewer")


class Announcement:
    """Prints the links once, when web is ready and the people are there."""

    def __init__(self, here: Places, say: Say) -> None:
        self._here = here
        self._say = say
        self._made = False

    def __call__(self) -> None:
        if self._made:
            return
        document = control.status(self._here)
        states = {name: service["state"] for name, service in document["services"].items()}
        if states.get("web") != "ready" or states.get("demo-people") != "done":
            return
        self._made = True
        for line in lines(read_json(self._here.root / "demo.json") or {}):
            self._say(line)
        for line in control.status_lines(document):
            self._say(line)
        self._say("\nCtrl-C stops everything; `make demo` resumes with the data.")


def lines(people: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The four links, and how to sign in by hand."""
    links = [f"  {role:<13}{people[role]['link']}" for role in ROLES if role in people]
    staff = [f"  {people[role]['email']:<28}{people[role]['password']}" for role in ROLES if people.get(role, {}).get("email")]
    return ["", "Open one of these:", *links, "", f"Staff can also sign in at {people.get('login', {}).get('link', '')} with", *staff, ""]


def run(wanted: Wanted, say: Say) -> None:
    """Start all and stay until stopped; if the stack runs in the background already, print the links and return."""
    here = control.places()
    control.supervise(wanted, say, lambda: Announcement(here, say))
    Announcement(here, say)()  # in case another supervisor runs it
