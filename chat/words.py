"""What the chat page's scripts say, in the person's language. `{…}` is filled in by the script."""

from django.utils.translation import gettext as _


def words(name: str) -> dict[str, str]:
    """Every sentence that the scripts can show; `name` is the assistant's alias."""
    fill = {"name": name}
    return {
        "you": _("You: "),
        "they": _("%(name)s: ") % fill,
        "they_write": _("%(name)s is writing: ") % fill,
        "writing": _("%(name)s is writing. Your draft is kept.") % fill,
        "sending": _("Sending"),
        "moment": _("One moment."),
        "not_sent": _("Not sent."),
        "kept": _("Your words are kept on this device."),
        "send_again": _("Send again"),
        "no_answer": _("No answer came."),
        "saved": _("Your message is saved."),
        "ask_again": _("Ask again"),
        "no_connection": _("No connection. Trying again in {seconds} s."),
        "connecting": _("Connecting."),
        "paused": _("Paused."),
        "paused_at": _("Paused at {minutes} minutes"),
        "outage_title": _("We have paused this conversation."),
        "outage": _(
            "Something on our side is not working. The time does not count and nothing you wrote is lost. You can wait here, or come back later."
        ),
        "outage_until": _("Your place is kept until {time}."),
        "later": _("Continue later"),
        "idle_title": _("Are you still there?"),
        "idle": _("The time stands still. It goes on when you write. You can also come back later."),
        "minutes_of": _("{minutes} of {least} minutes"),
        "minutes": _("{minutes} minutes"),
        "message_one": _("1 message"),
        "messages": _("{count} messages"),
        "at_least": _("{messages}, at least {least}"),
        "finish_both": _("You may finish after {turns} more messages and {minutes} more minutes."),
        "finish_turns": _("You may finish after {turns} more messages."),
        "finish_minutes": _("You may finish in {minutes} minutes."),
        "may_finish": _("You may finish now, or go on."),
        "too_long": _("This is longer than {most} characters. Please shorten it."),
        "busy": _("One message at a time. Your words are back in the box."),
        "closed": _("This conversation is over."),
        "not_yet": _("It is too early to finish."),
        "refused": _("This could not be sent. Your words are back in the box."),
        "today": _("Today, {day}"),
    }
