"""The second half of bench/run: arguments, measuring part by part, the reports."""
import argparse
import json
import os
import pathlib
import sys
import time

import machine
import measure
import peer_blas
import report


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run", add_help=False)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=list(measure.PARTS), default=[])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path)
    parser.add_argument("--from", dest="source", type=pathlib.Path)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--parse-only", action="store_true")
    given = parser.parse_args()
    for file in (given.against, given.source):
        if file and not file.is_file():
            parser.error(f"{file} is not a file")
    if given.markdown and given.only:
        parser.error("--markdown writes the page of a whole run; leave out --only")
    if given.source and (given.quick or given.only):
        parser.error("--from measures nothing; leave out --quick and --only")
    return given


def run(given):
    build = machine.ROOT / "build/bench"
    print("\n== the BLAS of the peers", file=sys.stderr, flush=True)
    blas = peer_blas.best()
    os.environ.pop("OPENBLAS_CORETYPE", None)
    if blas and blas["core"]:  # every peer that is started from here inherits it
        os.environ["OPENBLAS_CORETYPE"] = blas["core"]
    result = {"schema": 1, "quick": given.quick, "good": True, "machine": machine.facts(),
              "limits": machine.limits(build), "blas": blas, "rows": []}
    setting = measure.Setting(build, given.quick, result["limits"], blas)
    for name, part in measure.PARTS.items():
        if given.only and name not in given.only:
            continue
        print(f"\n== {name} ({time.strftime('%H:%M:%S')})", file=sys.stderr, flush=True)
        result["rows"] += part(setting)
    result["good"] = setting.good
    return result


def main():
    given = arguments()
    if given.parse_only:
        return 0
    result = report.read(given.source) if given.source else run(given)
    print(report.table(result))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    if given.markdown:
        report.write_page(result)
    status = 0 if result["good"] else 1
    if not result["good"]:
        print("two sides disagreed: see the tables above", file=sys.stderr)
    if given.against:
        text, slower = report.against(result, report.read(given.against))
        print(text)
        status = max(status, 1 if slower else 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
