"""How far a run is: a bar in the terminal or in a notebook, or whatever the caller wants to be told."""
import html
import sys
import time
from typing import Any, Callable, Optional, Union

Told = Callable[[float, str], Any]
Progress = Union[None, bool, Told]

WAIT = 0.5  # seconds before a bar appears: most runs are shorter
CELLS = 30


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    here = shell.get_ipython() if shell else None
    return here is not None and type(here).__name__ == "ZMQInteractiveShell"


class _Bar:
    """Called with the share that is done (below 0: the end is not known) and a note."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.shown = False

    def __call__(self, done: float, note: str) -> None:
        if time.monotonic() - self.begin >= WAIT:
            self.shown = True
            self.draw(min(done, 1.0), note)

    def left(self, done: float) -> str:
        if not 0.01 < done < 1:
            return ""
        seconds = (time.monotonic() - self.begin) * (1 - done) / done
        return f", {seconds:.0f} s left" if seconds < 100 else f", {seconds / 60:.0f} min left"

    def draw(self, done: float, note: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class _TerminalBar(_Bar):
    def draw(self, done: float, note: str) -> None:
        bar = "#" * int(CELLS * max(0.0, done))
        head = f"[{bar:<{CELLS}}] {100 * done:3.0f} %" if done >= 0 else f"{time.monotonic() - self.begin:.0f} s"
        sys.stderr.write(f"\r{(head + '  ' + note + self.left(done))[:100]:<100}")
        sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 100 + "\r")
            sys.stderr.flush()


class _NotebookBar(_Bar):
    handle: Any = None

    def draw(self, done: float, note: str) -> None:
        from IPython.display import HTML, display
        share = f"value='{done:.3f}' max='1'" if done >= 0 else ""
        text = HTML(f"<div><progress style='width:20em' {share}></progress> {html.escape(note + self.left(done))}</div>")
        if self.handle is None:
            self.handle = display(text, display_id=True)
        else:
            self.handle.update(text)

    def close(self) -> None:
        if self.handle is not None:
            from IPython.display import HTML
            self.handle.update(HTML(""))


class Reporter:
    """What a run is given as `progress`: None shows a bar if somebody can see it, True always, False never; a callable is
    told (share done, note)."""

    def __init__(self, progress: Progress) -> None:
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise ValueError(f"progress = '{progress}' is not allowed; allowed: None, True, False, or a callable (done, note)")
        self.bar: Optional[_Bar] = None
        visible = _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
        if progress is True or (progress is None and visible):
            self.bar = _NotebookBar() if _in_notebook() else _TerminalBar()
        self.tell: Optional[Told] = progress if callable(progress) else self.bar

    def __enter__(self) -> Optional[Told]:
        return self.tell

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
