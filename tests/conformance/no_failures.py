"""What the official conformance suite wrote down, looked at check by check.

Its exit code passes over scenarios that do not count for a revision, over warnings, over what was skipped, and over a run in which
nothing was tested. Here every scenario has to be there and every check passed, but for those below.

    no_failures.py DIRECTORY REVISION_OR_SUITE
"""

import collections
import json
import pathlib
import re
import sys

SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50, "active": 30}
PASSED = {"2025-11-25": 83, "2026-07-28": 197, "active": 40}

# None of these counts for its revision, in the words of the suite.
EXCEPT = {
    # A tool would have to end the stream of the response to its own call, so that its client has to connect again. Commands have
    # no hold of connections.
    ("server-sse-polling", "server-sse-disconnect-resume"): "WARNING",
    # The suite does not test it yet and says so.
    ("tasks-status-notifications", "tasks-status-notifications"): "SKIPPED",
}


def scenario(directory):
    """`server-NAME-2026-11-19T21-39-35-997Z`"""
    return re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[-\d]+Z", directory.name)[1]


def main():
    results, run = pathlib.Path(sys.argv[1]), sys.argv[2]
    files = sorted(results.glob("*/checks.json"))
    count = collections.Counter()
    bad = []
    for file in files:
        for check in json.loads(file.read_text()):
            name = (scenario(file.parent), check["id"])
            count[check["status"]] += 1
            if check["status"] in ("SUCCESS", "INFO", EXCEPT.get(name)):
                continue
            bad.append(f"{'/'.join(name)}: {check['status']}: {check.get('errorMessage') or check.get('description')}")
    print(f"{run}: {len(files)} scenarios, " + ", ".join(f"{number} {status}" for status, number in sorted(count.items())))
    if bad:
        sys.exit("\n".join(bad))
    if len(files) != SCENARIOS[run] or count["SUCCESS"] < PASSED[run]:
        sys.exit(f"{SCENARIOS[run]} scenarios with at least {PASSED[run]} passed checks were expected")


main()
