"""Long commands that can be resumed, killed 20 times each at random moments: in the end the same bytes as without a kill."""
import json
import pathlib
import random
import shutil
import signal
import subprocess
import time

import verdict

STUDY = ('command = "flow"\nmeasure = ["clusters", "mean_cosine"]\nreplicates = 6\n[fixed]\ntokens = 96\ndim = 2\ntime = 40\noutputs = 5\n'
         '[grid]\nbeta = [1, 4, 9, 16, 25, 36]\n')
# About a second each. Every command of the registry stands here or among the short ones.
LONG = {
    "flow": ["flow", "--tokens", "200", "--dim", "4", "--beta", "4", "--tolerance", "1e-11", "--time", "60"],
    "select": ["select", "example:selectable,inputs=6,tokens=6,dim=8", "--steps", "300000"],
    "sweep": ["sweep", "study.toml", "--workers", "2"],
    "bridge": ["bridge", "example:selectable,inputs=6,tokens=6,dim=8", "--tokens", "64", "--checkpoints", "12", "--log10-time", "12", "--time", "20"],
    "phase": ["phase", "--dim", "3", "--beta", "1:20:20", "--replicates", "64", "--tokens", "24", "--time", "10"],
    "meanfield": ["meanfield", "--beta", "3", "--time", "3", "--outputs", "20", "--compare-particles", "64,128,256,512", "--replicates", "64"],
    "stationary": ["stationary", "--beta", "3", "--particles", "512"],
    "forecast": ["forecast", "--depth", "2000", "--tokens", "100000"],
    "reproduce": ["reproduce", "several-heads", "--quick"],
}
SHORT = {"reduce equiangular", "reduce pair", "reduce clusters", "stability", "context", "cluster", "compare", "measure", "inspect", "architect"}
KILLS = 20


class Kills:
    name, cases_in_soak = "kills", 1  # once each command of the registry

    def __init__(self, program, root, seed):
        self.program, self.root, self.seed = program, pathlib.Path(root), seed
        self.root.mkdir(parents=True)
        listed = json.loads(subprocess.run([program, "manual", "--form", "json"], capture_output=True, check=True).stdout)
        self.commands = [c for c in listed if c["name"] not in SHORT and any(p["name"] == "resume" for p in c["parameters"])]

    def cases(self, count):
        return [command for _ in range(count) for command in self.commands]

    def start(self, words, place):
        return subprocess.Popen([self.program, *words], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def first_words(self, command):
        words = LONG[command["name"]] + ["--out", "run"]
        return words + (["--checkpoint-seconds", "0"] if any(p["name"] == "checkpoint-seconds" for p in command["parameters"]) else [])

    def place(self, name):
        place = self.root / name
        place.mkdir(parents=True)
        (place / "study.toml").write_text(STUDY)
        return place

    def case(self, command):
        name = command["name"]
        line = f"{self.program} {' '.join(LONG.get(name, [name]))} --out run   # killed and resumed"
        if name not in LONG:
            return verdict.Finding("delivered", f"kills.py knows no long call of {name}", line)
        whole = self.place(f"{name} whole")
        began = time.monotonic()
        done = subprocess.run([self.program, *self.first_words(command)], cwd=whole, capture_output=True, timeout=300)
        seconds = time.monotonic() - began
        if done.returncode != 0:
            return verdict.Finding("refused", f"{name}: status {done.returncode} without a kill: {done.stderr[-300:]!r}", line)
        try:
            wrong = self.killed(command, seconds, verdict.tree(whole / "run"))
        except subprocess.TimeoutExpired:
            wrong = f"{name}: no end within 300 s"
        return verdict.Finding("delivered", wrong, line)

    def killed(self, command, seconds, whole):
        """Every round is one run from its beginning to its end, with kills on the way; rounds until there were 20 kills."""
        name, draw = command["name"], random.Random(f"{self.seed} kills {command['name']}")
        kills, resumed, rounds = 0, 0, 0
        while kills < KILLS and rounds < 3 * KILLS:
            place = self.place(f"{name} {rounds}")
            rounds += 1
            words = self.first_words(command)
            while not (place / "run" / "summary.json").exists():
                process = self.start(words, place)
                wait = draw.uniform(0, seconds / 3) if kills < KILLS else 300
                try:
                    _, said = process.communicate(timeout=wait)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    kills += 1
                    if wait == 300:
                        return f"{name}: no end within 300 s"
                else:
                    if process.returncode != 0:
                        return f"{name}: status {process.returncode} after {kills} kills: {said[-300:]!r}"
                    if name == "reproduce" or not (place / "run" / "summary.json").exists():
                        break
                kept = (place / "run" / "run.toml").exists()
                resumed += kept
                words = [command["name"], "--resume", "run"] if kept else self.first_words(command)
                if not kept:
                    shutil.rmtree(place / "run", ignore_errors=True)
            wrong = self.difference(verdict.tree(place / "run"), whole)
            if wrong:
                return f"{name}: after {kills} kills {wrong}"
            shutil.rmtree(place)
        return None if resumed > 0 else f"{name}: none of {kills} kills was resumed; the call is too short"

    @staticmethod
    def difference(found, whole):
        """What a kill left half written waits for the next writer."""
        found = {k: v for k, v in found.items() if not k.endswith(".partial")}
        if sorted(found) != sorted(whole):
            return f"other files: {sorted(set(found) ^ set(whole))}"
        unequal = [k for k in whole if found[k] != whole[k]]
        return f"other bytes: {unequal}" if unequal else None
