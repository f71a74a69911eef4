"""A plug-in of pytest that appends the result of each function to the file in SWSS_RESULTS.

A line has the function, the result (pass, does not apply, fails, listed but passes) and the reason, separated by tabs.
Functions that do not apply are those of the file in SWSS_EXCEPTIONS: each line has a pattern of functions, white space
and a reason. They run too, unless SWSS_SKIP_LISTED is 1.
"""

import fnmatch
import os

import pytest


def _exceptions():
    with open(os.environ["SWSS_EXCEPTIONS"]) as f:
        lines = [line.strip() for line in f]
    return [line.split(None, 1) for line in lines if line and not line.startswith("#")]


def pytest_collection_modifyitems(items):
    """Mark the functions that do not apply."""
    exceptions = _exceptions()
    run = os.environ.get("SWSS_SKIP_LISTED") != "1"
    for item in items:
        for pattern, reason in exceptions:
            if fnmatch.fnmatchcase(item.nodeid.replace("[", "(").replace("]", ")"), pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, run=run, strict=False))
                break


def _reason(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        if isinstance(report.longrepr, tuple):
            return report.longrepr[2]
        return str(report.longrepr).strip().splitlines()[-1] if report.longrepr else ""
    return f"{os.path.basename(crash.path)}:{crash.lineno}: " + " ".join(crash.message.split())[:300]


class _Results:
    def __init__(self):
        self.begun = {}

    def pytest_runtest_logreport(self, report):
        if report.when == "setup":
            self.begun[report.nodeid] = None
        if report.when == "teardown" and report.failed and self.begun.get(report.nodeid) != "fails":
            return self._write(report.nodeid, "fails", "in its end: " + _reason(report), report)
        if report.when == "setup" and report.passed or report.when == "teardown":
            return None
        if hasattr(report, "wasxfail"):
            result = "listed but passes" if report.passed else "does not apply"
            return self._write(report.nodeid, result, report.wasxfail.replace("reason: ", ""), report)
        if report.skipped:
            return self._write(report.nodeid, "does not apply", "skips itself: " + _reason(report), report)
        return self._write(report.nodeid, "pass" if report.passed else "fails",
                           "" if report.passed else _reason(report), report)

    def _write(self, nodeid, result, reason, report):
        self.begun[nodeid] = result
        with open(os.environ["SWSS_RESULTS"], "a") as f:
            f.write(f"{nodeid}\t{result}\t{reason}\t{report.duration:.0f} s\n")


def pytest_configure(config):
    """Register the writer of results."""
    config.pluginmanager.register(_Results(), "swss-results")
