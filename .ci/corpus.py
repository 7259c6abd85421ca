"""Runs the conformance corpus and judges the outcome by rule.

    corpus.py CORPUS OCIOR

A file may fail only because it needs something that is not built yet, and then it must say so: the
check fails on wrong rows, on a corrupt file that is accepted, on panics, hangs, signals and silence,
and on a refusal that is not `unsupported`.
"""

import json
import os
import subprocess
import sys
import tempfile


def main():
    corpus, ocior = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        runner = os.path.join(corpus, "check_corpus.py")
        command = [sys.executable, runner, "--ocior", ocior, "--corpus", corpus, "--with-keys", "--report", report, "--max-shown", "0"]
        # What hangs does so for longer, and a busy machine may take its time.
        command += ["--timeout", "300"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):
            sys.exit(done.stdout)
        with open(report, encoding="utf-8") as file:
            checks = json.load(file)["checks"]
    failures = [c for c in checks if c["failure"]]
    missing = [c for c in failures if c["failure"] == "refused" and "unsupported: " in c["words"]]
    bad = [c for c in failures if c not in missing]
    for check in bad:
        print("FAIL %s [%s] %s" % (check["path"], check["failure"], check["words"]))
    print("%d of %d files need what is not built yet" % (len(missing), len(checks)))
    print("%d passed, %d failed, %d skipped" % (len(checks) - len(failures), len(bad), len(missing)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
