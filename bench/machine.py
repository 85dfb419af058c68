"""What the figures were measured on: processor, limits, compiler, versions of the libraries on both sides."""
import datetime
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = ("libfftw3-dev", "libhwy-dev", "libopenblas0", "python3-cvxopt", "python3-numpy", "python3-sklearn",
             "python3-torch")


def output(*command):
    """Standard output of a program, or "" where there is no such program or it fails."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def first_field(file, name):
    """`name : value` of a file in /proc."""
    with open(file) as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return "unknown"


def vectors():
    flags = first_field("/proc/cpuinfo", "flags").split()
    return next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "SSE")


def versions():
    found = {}
    for package in LIBRARIES:
        version = output("dpkg-query", "-W", "-f=${Version}", package)
        if version:
            found[package.removesuffix("-dev")] = version
    return found


def facts():
    return {
        "date": datetime.date.today().isoformat(),
        "commit": output("git", "rev-parse", "--short", "HEAD"),
        "cpu": first_field("/proc/cpuinfo", "model name"),
        "family": f"{first_field('/proc/cpuinfo', 'cpu family')}/{first_field('/proc/cpuinfo', 'model')}",
        "vectors": vectors(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(first_field("/proc/meminfo", "MemTotal").split()[0]) / 2**20),
        "load": os.getloadavg()[0],
        "compiler": output("c++", "--version").partition("\n")[0],
        "libraries": versions(),
    }


def limits(build):
    done = subprocess.run([build / "bench/machine_timing"], check=True, capture_output=True, text=True)
    measured = json.loads(done.stdout)
    measured.pop("sum")
    return measured
