"""`python -m studyplatform.scripted --port 8103`: the scripted server as a process of its own."""

import argparse
import logging

import uvicorn

from studyplatform.scripted.endpoints import Dropped, ScriptedServer


def _not_dropped(record: logging.LogRecord) -> bool:
    """A scripted cut is no error of the server's."""
    return not (record.exc_info and isinstance(record.exc_info[1], Dropped))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8103)
    arguments = parser.parse_args()
    logging.getLogger("uvicorn.error").addFilter(_not_dropped)
    uvicorn.run(ScriptedServer(), host=arguments.host, port=arguments.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
