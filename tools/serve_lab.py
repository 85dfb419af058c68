#!/usr/bin/python3
"""serve_lab.py FOLDER [--port N]: the browser lab on this machine alone (127.0.0.1); prints its address and serves until it is interrupted."""
import argparse
import functools
import http.server
import sys


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      ".wasm": "application/wasm", ".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def copyfile(self, source, outputfile):
        try:
            super().copyfile(source, outputfile)
        except ConnectionError:  # the page was left or loaded again meanwhile
            pass

    def log_message(self, *_):
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=0, help="0: one that is free")
    given = parser.parse_args()
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", given.port), functools.partial(Files, directory=given.folder))
    except (OSError, OverflowError) as error:
        print(f"serve_lab: port {given.port} cannot be used: {error}", file=sys.stderr)
        return 2
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
