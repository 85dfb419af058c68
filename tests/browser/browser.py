"""A browser that looks at pages as a reader would: Debian's Chromium, driven by selenium.

    with Browser() as browser:
        browser.open(page, "phone")      # light, dark or phone (420 pixels wide)
        faults = browser.faults()        # what is wrong with it, in sentences
"""
import base64
import pathlib
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

MODES = ("light", "dark", "phone")
WIDTH = {"light": 1200, "dark": 1200, "phone": 420}

# Every fault of a page that can be told from its layout. Text is measured as it is drawn: rectangles of text nodes and of
# <text> in SVG, without the empty room above and below letters.
LOOK = r"""
const faults = [];
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) faults.push(`the page scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);

const visible = e => e.checkVisibility ? e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) : e.getClientRects().length > 0;
const scrolls = e => { for (; e; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return e; return null; };
const channels = text => {
  const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  c.fillStyle = text; c.fillRect(0, 0, 1, 1);
  return [...c.getImageData(0, 0, 1, 1).data];
};
const light = rgb => rgb.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const known = new Map();
const background = e => {
  for (; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor);
    if (c[3] > 0) return c;
  }
  return [255, 255, 255, 255];
};

const words = [];  // {text, rect, owner, svg}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode()) !== null;) {
  const owner = node.parentElement, text = node.textContent.trim();
  if (!text || !visible(owner) || /SCRIPT|STYLE|NOSCRIPT/.test(owner.tagName) || owner.closest('[hidden]')) continue;
  if (owner.closest('details:not([open])') && !owner.closest('summary')) continue;
  const label = owner.closest('text');
  if (label) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const r of range.getClientRects()) words.push({text, rect: r, owner, svg: null});
}
for (const label of document.querySelectorAll('svg text'))
  if (visible(label) && label.textContent.trim()) words.push({text: label.textContent, rect: label.getBoundingClientRect(), owner: label, svg: label.closest('svg.panel') ?? label.closest('svg')});

for (const w of words) {
  const style = getComputedStyle(w.owner), r = w.rect;
  const ink = channels(w.svg ? style.fill : style.color), card = background(w.svg ? w.svg.parentElement : w.owner);
  const key = ink.join() + '/' + card.join();
  if (!known.has(key)) known.set(key, contrast(ink, card));
  if (known.get(key) < 4.5) faults.push(`contrast ${known.get(key).toFixed(2)} of "${w.text.slice(0, 60)}"`);
  const box = scrolls(w.owner);
  if (!box && (r.left < -0.5 || r.right > root.clientWidth + 0.5)) faults.push(`"${w.text.slice(0, 60)}" is cut at the edge of the page`);
  if (w.svg) {
    const s = w.svg.getBoundingClientRect();
    if (r.left < s.left - 1.5 || r.right > s.right + 1.5 || r.top < s.top - 3 || r.bottom > s.bottom + 4)
      faults.push(`"${w.text.slice(0, 60)}" reaches out of its figure by ${Math.max(s.left - r.left, r.right - s.right, s.top - r.top, r.bottom - s.bottom).toFixed(1)}`);
  }
}
// Letters fill about the middle of their rectangle.
const tight = w => { const r = w.rect, cut = 0.22 * r.height; return {l: r.left + 0.5, r: r.right - 0.5, t: r.top + cut, b: r.bottom - cut}; };
const boxes = words.map(w => ({w, ...tight(w)})).sort((a, b) => a.t - b.t);
for (let i = 0; i < boxes.length; ++i)
  for (let j = i + 1; j < boxes.length && boxes[j].t < boxes[i].b; ++j) {
    const a = boxes[i], b = boxes[j];
    if (a.w.owner === b.w.owner || a.l >= b.r || b.l >= a.r) continue;
    if (Math.min(a.r, b.r) - Math.max(a.l, b.l) < 1 || Math.min(a.b, b.b) - Math.max(a.t, b.t) < 1) continue;
    if (scrolls(a.w.owner) !== scrolls(b.w.owner)) continue;
    faults.push(`"${a.w.text.slice(0, 40)}" lies over "${b.w.text.slice(0, 40)}"`);
  }

const tiles = [...document.querySelectorAll('.tile')];
if (tiles.length > 6) faults.push(`${tiles.length} tiles`);
for (const t of tiles)
  for (const part of ['dt', 'dd', 'small'])
    if (!t.querySelector(part)?.textContent.trim()) faults.push(`a tile without ${part}: "${t.textContent}"`);
for (const e of document.querySelectorAll('h1, h2, h3, td:first-child, dd, figcaption, .remark, .warning'))
  if (visible(e) && !e.textContent.trim()) faults.push(`an empty <${e.localName}>`);

const sentences = [...document.querySelectorAll('h1, .tile, .remark, .warning, figcaption, .note, .when, svg text')].filter(visible);
for (const e of sentences) {
  if (/\b[a-z]{2,}_[a-z_]{2,}/.test(e.textContent)) faults.push(`an identifier in "${e.textContent.slice(0, 80)}"`);
  if (/\d\.\d{12,}/.test(e.textContent)) faults.push(`too many digits in "${e.textContent.slice(0, 80)}"`);
  if (/\bnan\b|\binf\b|undefined|\[object/i.test(e.textContent)) faults.push(`no words: "${e.textContent.slice(0, 80)}"`);
}
for (const entry of performance.getEntriesByType('resource'))
  if (!/^(file|data):/.test(entry.name)) faults.push(`asks for ${entry.name}`);
return faults;
"""


class Browser:
    def __enter__(self):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                         "--force-device-scale-factor=1", "--allow-file-access-from-files"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def tell(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, page, mode="light", motion=False):
        """motion: pictures play by themselves."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if mode == "dark" else "light"},
                    {"name": "prefers-reduced-motion", "value": "no-preference" if motion else "reduce"}]
        self.tell("Emulation.setEmulatedMedia", features=features)
        self.tell("Emulation.setDeviceMetricsOverride", width=WIDTH[mode], height=900, deviceScaleFactor=1, mobile=mode == "phone")
        self.driver.get(pathlib.Path(page).resolve().as_uri())

    def faults(self):
        found = self.run(LOOK)
        found += [f"console: {entry['message'][:200]}" for entry in self.driver.get_log("browser")
                  if entry["level"] in ("SEVERE", "WARNING")]
        return found

    def picture(self, target, most=12000):
        """The whole page as PNG."""
        width = self.run("return document.documentElement.clientWidth")
        height = min(most, self.run("return document.documentElement.scrollHeight"))
        # As high as the page, or pictures that are out of sight would not be drawn.
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        time.sleep(0.2)
        shot = self.tell("Page.captureScreenshot", format="png", clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        pathlib.Path(target).write_bytes(base64.b64decode(shot["data"]))

    def move(self, x, y, kind="mouseMoved", **more):
        self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
