"""One command under hostile circumstances, and what is wrong with how it ended.

Allowed: status 0 (delivered), 2 (refused in one sentence), 3 (the numerics could not, with a remedy) and 130 (interrupted). Wrong: a
signal, any other status, no end within 20 s, more than one sentence or a raw message of C++, standard output that is not JSON with
--json, files left half written, memory beyond 1 GB.
"""
import dataclasses
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time

SECONDS, MEMORY_KB = 20, 1 << 20
ADDRESS_SPACE = 6 << 30  # the machine's protection; what takes that much is wrong anyway
# A sanitizer reserves terabytes of addresses and keeps what was freed: memory says nothing then.
SANITIZED = bool(os.environ.get("ATTRACTOR_SANITIZED"))
RAW = re.compile(r"terminate called|std::|map::at|filesystem error|basic_string|vector::|HDF5-DIAG|what\(\)|bad_alloc|json\.exception|"
                 r"Assertion|runtime error|AddressSanitizer")
ENDS = (0, 2, 3, 130)


@dataclasses.dataclass
class Outcome:
    line: str  # to repeat it in a shell
    status: int
    out: bytes = b""
    err: bytes = b""
    hung: bool = False
    interrupted: bool = False
    memory_kb: int = 0

    @property
    def kind(self):
        return "refused" if self.status in (2, 3) else "delivered"


def shell_line(words, cwd, environment, redirect):
    variables = "".join(f"{k}={shlex.quote(v)} " for k, v in (environment or {}).items())
    called = " ".join(shlex.quote(os.fsdecode(w)) for w in words)
    return f"cd {shlex.quote(os.fsdecode(cwd))} && {variables}{called} {redirect}".strip()


def run(words, cwd, *, limits=(), redirect="", environment=None, interrupt_after=None, seconds=SECONDS):
    """`limits`: options of prlimit(1); `redirect`: as bash writes it; interrupt_after: seconds until SIGINT, for what may be long."""
    if not SANITIZED and not any("--as" in x for x in limits):
        limits = [f"--as={ADDRESS_SPACE}", *limits]
    command = ["prlimit", *limits, *words] if limits else list(words)
    if redirect:
        command = ["bash", "-c", f'exec "$@" {redirect}', "bash", *command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   env={**os.environ, **(environment or {})})
        ended = threading.Event()
        outcome = Outcome(shell_line(command, cwd, environment, ""), 0)

        def watch():
            if interrupt_after is not None and not ended.wait(interrupt_after):
                outcome.interrupted = True
                process.send_signal(signal.SIGINT)
            if not ended.wait(seconds):
                outcome.hung = True
                os.kill(process.pid, signal.SIGKILL)

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, used = os.wait4(process.pid, 0)
        ended.set()
        watcher.join()
        process.returncode = outcome.status = os.waitstatus_to_exitcode(status)
        outcome.memory_kb = used.ru_maxrss
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            setattr(outcome, name, file.read(1 << 28))
    return outcome


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def left_behind(directory):
    """Files half written. A name may be anything, so it is compared as bytes."""
    found = []
    for place, folders, files in os.walk(os.fsencode(directory)):
        found += [os.path.join(place, name) for name in folders + files if name.endswith(b".partial")]
    return found


def fault_of_words(outcome, as_json, out_open, err_open):
    error = outcome.err.decode("utf-8", "surrogateescape")
    if RAW.search(error):
        return f"a raw message: {error[:300]!r}"
    if outcome.status == 2 and err_open and not re.fullmatch(r"attractor: [^\n]+\n", error):
        return f"not refused in one sentence: {error[:300]!r}"
    if outcome.status == 3 and err_open and not re.search(r"attractor: [^\n]+\n$", error):
        return f"status 3 without a sentence: {error[:300]!r}"
    if as_json and outcome.status == 2 and outcome.out:
        return f"refused, and yet on standard output: {outcome.out[:100]!r}"
    if as_json and out_open and outcome.status in (0, 3):
        try:
            json.loads(outcome.out.decode("utf-8"), parse_constant=no_constant)
        except ValueError as problem:
            return f"standard output is not JSON, {problem}: {outcome.out[:100]!r}"
    return None


def fault(outcome, cwd, *, as_json=False, bounded_memory=True, most_kb=MEMORY_KB, out_open=True, err_open=True):
    """What is wrong, or None."""
    if outcome.hung:
        return f"no end within {SECONDS} s" + (" of an interrupt" if outcome.interrupted else "")
    if outcome.interrupted and outcome.status == -signal.SIGINT:
        outcome.status = 130  # as a shell would say it
    if outcome.status < 0:
        return f"ended by {signal.Signals(-outcome.status).name}: {outcome.err[-200:]!r}"
    if outcome.status not in ENDS or (outcome.status == 130 and not outcome.interrupted):
        return f"status {outcome.status}: {outcome.err[-200:]!r}"
    if bounded_memory and not SANITIZED and outcome.memory_kb > most_kb:
        return f"took {outcome.memory_kb >> 10} MB"
    if bounded_memory and b"not enough memory" in outcome.err:
        return f"asked for more than {ADDRESS_SPACE >> 30} GB: {outcome.err!r}"
    words = fault_of_words(outcome, as_json, out_open, err_open)
    if words:
        return words
    partial = left_behind(cwd)
    return f"left half written: {partial[:3]}" if partial and outcome.status != 130 else None


@dataclasses.dataclass
class Finding:
    """Of one case: how it ended, and what was wrong."""
    kind: str
    fault: str | None = None
    line: str = ""


def finding(outcome, cwd, **how):
    wrong = fault(outcome, cwd, **how)
    return Finding(outcome.kind, wrong, outcome.line)


def without_clock(text):
    """A summary has the time of the clock on the wall, and a card of a gallery too; nothing else may differ."""
    return re.sub(rb'"(?:wall_)?seconds": [^,\n}]+|, [0-9.]+ s(?=</p></article>)', b"", text)


def kept_bytes(file):
    """Workers write the lines of a journal in the order in which they end."""
    text = without_clock(file.read_bytes())
    return sorted(text.splitlines()) if file.suffix == ".jsonl" else text


def tree(directory):
    """Every file below with its bytes. run.toml names the directory in which the run was started."""
    directory = pathlib.Path(directory)
    return {str(p.relative_to(directory)): kept_bytes(p) for p in sorted(directory.rglob("*")) if p.is_file() and p.name != "run.toml"}


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.002)
    return condition()
