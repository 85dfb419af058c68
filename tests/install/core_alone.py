"""core_alone.py SOURCE_DIR BUILD_DIR: attractor_core needs no HDF5, GMP, MPI, FFTW, TOML, zlib and utf8proc.

Their headers are replaced by traps that stop the preprocessor. Every file of the core is preprocessed so, with its own command; what has another form
without GMP and FFTW is compiled so; then the examples are compiled so, linked with these and the core that BUILD_DIR holds (what it made of the very files
that met no trap), with none of those libraries, and run.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
HEADERS = ("hdf5.h", "gmp.h", "gmpxx.h", "mpi.h", "fftw3.h", "toml++/toml.h", "zlib.h", "utf8proc.h")
OTHER_FORM = ("fft_kissfft", "fraction", "exact_margin")  # than in BUILD_DIR, where they may use FFTW and GMP
FORBIDDEN = ("hdf5", "gmp", "mpi", "fftw", "libz.", "utf8proc")


def run(words, **more):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(str(word) for word in words)}\n{done.stdout[-4000:]}")
    return done.stdout


def configure(work):
    """What a build of the core alone would compile, and how."""
    for header in HEADERS:
        trap = work / "traps" / header
        trap.parent.mkdir(parents=True, exist_ok=True)
        trap.write_text(f'#error "attractor_core must not include {header}"\n')
    run(["cmake", "-S", SOURCE, "-B", work / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DATTRACTOR_CORE_ONLY=ON",
         "-DATTRACTOR_PRECOMPILE=OFF", "-DATTRACTOR_FFT=kissfft", "-DATTRACTOR_GMP=OFF", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
         f"-DCMAKE_CXX_FLAGS=-I{work / 'traps'} -DHWY_COMPILE_ONLY_STATIC"])
    return [(pathlib.Path(c["file"]), shlex.split(c["command"])) for c in json.loads((work / "build/compile_commands.json").read_text())]


def preprocess(command):
    words = list(command)
    words[words.index("-c")] = "-E"
    words[words.index("-o") + 1] = os.devnull
    run(words)


def main():
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        work = pathlib.Path(name)
        commands = configure(work)
        core = [command for file, command in commands if not file.is_relative_to(SOURCE / "examples")]  # single files, and several as one
        examples = [(file, command) for file, command in commands if file.is_relative_to(SOURCE / "examples")]
        if len(core) < 20 or len(examples) < 8:
            sys.exit(f"only {len(core)} units of the core and {len(examples)} examples were found")
        list(pool.map(preprocess, core))
        others = [(work / f"{file.stem}.o", command) for file, command in commands if file.stem in OTHER_FORM]
        if len(others) != len(OTHER_FORM):
            sys.exit(f"{len(others)} of {OTHER_FORM} were found")
        compiled = others + [(work / f"{file.stem}.example.o", command) for file, command in examples]
        for target, command in compiled:
            command[command.index("-o") + 1] = target
        list(pool.map(run, (command for _, command in compiled)))
        parts = [BUILD / f"library/libattractor_{part}.a" for part in ("core", "numerics", "ranks")]
        hwy = ["-lhwy"]
        for file, _ in examples:
            program = work / file.stem
            run(["g++", work / f"{file.stem}.example.o", *(target for target, _ in others), *parts, *hwy, "-lfmt", "-pthread", "-o", program])
            run([program], cwd=work)
            linked = run(["ldd", program])
            if any(word in linked for word in FORBIDDEN):
                sys.exit(f"{file.stem} links one of them:\n{linked}")
    print(f"the core stands alone: {len(core)} units met no trap, {len(examples)} examples ran")


main()
