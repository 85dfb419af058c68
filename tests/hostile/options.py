"""Options of every command as the registry lists them (attractor manual --form json), a few at a time, with values of every kind."""
import json
import pathlib
import random
import re
import shutil
import subprocess

import calls
import verdict

EXTREME = ["nan", "-nan", "inf", "-inf", "-0", "0", "1e308", "-1e308", "5e-324", "1e-300", "18446744073709551616", "9007199254740993", "1e18", "-1",
           "", " ", "é", "数", "\udcff\udcfe", "x" * 5000, "1,2", "1:2", "1:2:3", "1:2:1000000000", "1e6", "64k", "0x10", "1 2", "--", "%s%n",
           "../x", ".", "/dev/null", "/dev/full", "nowhere.npy", "points.npy", "model.bin", "first"]
LONG = 4.0  # seconds until Ctrl-C: huge numbers of things are allowed, and take long
ELSEWHERE = {"resume", "json", "quiet"}  # of kills.py, and always


class Options:
    name, cases_in_soak = "options", 2000

    def __init__(self, program, root, seed):
        self.program, self.root, self.seed = program, pathlib.Path(root), seed
        self.prepared = calls.prepare(program, self.root / "prepared")
        listed = json.loads(subprocess.run([program, "manual", "--form", "json"], capture_output=True, check=True).stdout)
        self.commands = [c for c in listed if c["name"] in calls.CALLS]
        self.unknown = [c["name"] for c in listed if c["name"] not in calls.CALLS]

    def cases(self, count):
        return range(-len(self.unknown), count)

    def value(self, parameter, draw):
        """A third within what is allowed (words, or the bounds of a range), the others anything."""
        allowed = parameter["allowed"]
        if draw.random() < 0.5:
            within = re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", allowed) if re.search(r"\d", allowed) else allowed.split(", ")
            if within:
                return draw.choice(within + ([str(draw.randint(1, 30)), f"{draw.uniform(0, 3):.3g}"] if re.search(r"\d", allowed) else []))
        return draw.choice(EXTREME)

    def drawn(self, number):
        draw = random.Random(f"{self.seed} options {number}")
        command = self.commands[number % len(self.commands)]
        base = calls.words(command["name"], out="out" if draw.random() < 0.3 and command["name"] not in calls.NO_JSON else None)
        for parameter in draw.sample(command["parameters"], min(draw.randint(1, 4), len(command["parameters"]))):
            if parameter["name"] in ELSEWHERE:
                continue
            value = self.value(parameter, draw) if parameter["takes_value"] else None
            flag = f"--{parameter['name']}"
            if parameter["positional"]:
                at = len(command["name"].split())
                base[at:at + 1] = [value]
            elif value is None:
                base += [] if flag in base else [flag]
            elif flag in base:
                base[base.index(flag) + 1] = value
            else:
                base += [f"{flag}={value}"] if draw.random() < 0.5 else [flag, value]
        return command["name"], base

    def case(self, number):
        if number < 0:
            name = self.unknown[number]
            return verdict.Finding("delivered", f"calls.py knows no call of {name}", f"{self.program} manual --form json")
        name, words = self.drawn(number)
        place = calls.copied(self.prepared, self.root / f"options{number}")
        outcome = verdict.run([self.program, *words], place, interrupt_after=LONG)
        found = verdict.finding(outcome, place, as_json="--json" in words and outcome.status != 130, bounded_memory=False)
        found.line = found.line.replace(str(place), str(self.prepared))
        shutil.rmtree(place)
        return found
