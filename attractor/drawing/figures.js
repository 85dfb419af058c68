// @ts-check
// Figures that answer: attach(root) shows the values under the pointer in every panel below root, and
// link(root, player, clocks) a line at the moment that the moving picture shows, which can be dragged.
// Values are read from what is drawn (svg_marks.cpp writes M, L, H, V and h0 only), so a page carries no
// second copy of its numbers; they are as exact as a tenth of a pixel.
import {numberWords, powerWords} from './viewer.js';

/** @typedef {import('./viewer.js').Player} Player */
/** @typedef {{scale: string, low: number, high: number, name: string, words: string[], whole: boolean}} PanelAxis */
/** @typedef {{x: number, y: number}} Point */
/** @typedef {{name: string, kind: string, points: Point[], colour: string}} Curve */

const kNear = 24;  // pixels

/** @param {string} data @param {string} kind @returns {Point[]} */
const vertices = (data, kind) => {
  const points = [];
  let x = 0, y = 0;
  for (const m of data.matchAll(/([MLHVhz])([-\d.]*)(?: ([-\d.]+))?/g)) {
    if (m[1] === 'H') x = +m[2];
    else if (m[1] === 'V') y = +m[2];
    else if (m[1] === 'M' || m[1] === 'L') { x = +m[2]; y = +m[3]; }
    else continue;
    if (m[1] !== 'H' || kind !== 'steps') points.push({x, y});
  }
  // A box is its upper edge's middle.
  if (kind !== 'boxes') return points;
  const tops = [];
  for (let k = 0; k + 3 < points.length; k += 4) tops.push({x: (points[k].x + points[k + 2].x) / 2, y: points[k + 1].y});
  return tops;
};

// The levels of a map's picture: a PNG whose rows are stored as they are (indexed_png.cpp).
/** @param {string} href @param {number} columns @returns {Uint8Array} */
const pngIndices = (href, columns) => {
  const raw = Uint8Array.from(atob(href.slice(href.indexOf(',') + 1)), c => c.charCodeAt(0)), view = new DataView(raw.buffer);
  /** @type {number[]} */
  const bytes = [];
  for (let at = 8; at + 8 < raw.length; at += 12 + view.getUint32(at)) {
    if (String.fromCharCode(...raw.subarray(at + 4, at + 8)) !== 'IDAT') continue;
    for (let block = at + 10, last = false; !last; block += 5 + view.getUint16(block + 1, true)) {
      last = raw[block] === 1;
      for (const byte of raw.subarray(block + 5, block + 5 + view.getUint16(block + 1, true))) bytes.push(byte);
    }
  }
  return Uint8Array.from(bytes.filter((_, i) => i % (columns + 1) !== 0));
};
/** @param {SVGElement} heat @param {number} columns @param {number} rows @returns {Uint8Array} */
const strokeLevels = (heat, columns, rows) => {
  const levels = new Uint8Array(columns * rows).fill(255);
  for (const path of heat.querySelectorAll('path'))
    for (const m of (path.getAttribute('d') ?? '').matchAll(/M(\d+) (\d+)\.5h(\d+)/g))
      levels.fill(Number(path.dataset.level), +m[2] * columns + +m[1], +m[2] * columns + +m[1] + +m[3]);
  return levels;
};

/** One panel: its axes and, once asked for, its curves. */
class PanelReader {
  /** @param {SVGGElement} plot */
  constructor(plot) {
    this.plot = plot;
    this.width = Number(plot.dataset.width);
    this.height = Number(plot.dataset.height);
    this.x = PanelReader.axis(plot, 'x');
    this.y = PanelReader.axis(plot, 'y');
    /** @type {Curve[] | null} */
    this.known = null;
    this.heat = /** @type {SVGElement | null} */ (plot.querySelector(':scope > .heat'));
    /** @type {Uint8Array | null} */
    this.cells = null;
  }
  /** @param {SVGGElement} plot @param {"x" | "y"} letter @returns {PanelAxis} */
  static axis(plot, letter) {
    const [scale, low, high] = (plot.dataset[letter] ?? 'linear 0 1').split(' ');
    const words = plot.dataset[letter + 'Words'];
    return {scale, low: +low, high: +high, name: plot.dataset[letter + 'Name'] ?? '', words: words ? words.split('\t') : [],
            whole: plot.dataset[letter + 'Whole'] !== undefined};
  }
  /** @returns {Curve[]} */
  curves() {
    if (this.known) return this.known;
    this.known = [];
    for (const mark of /** @type {NodeListOf<SVGElement>} */ (this.plot.querySelectorAll('path.line, path.steps, path.dots, path.boxes, g.dots'))) {
      const kind = mark.classList[0], colour = mark.getAttribute('stroke') ?? mark.getAttribute('fill') ?? '';
      const points = mark instanceof SVGPathElement
        ? vertices(mark.getAttribute('d') ?? '', kind)
        : [...mark.querySelectorAll('circle')].map(c => ({x: Number(c.getAttribute('cx')), y: Number(c.getAttribute('cy'))}));
      this.known.push({name: mark.dataset.name ?? '', kind, points, colour});
    }
    return this.known;
  }
  // The value at a share of an axis.
  /** @param {PanelAxis} axis @param {number} share */
  static value(axis, share) {
    if (axis.scale === 'log') return Math.exp(Math.log(axis.low) + share * (Math.log(axis.high) - Math.log(axis.low)));
    return axis.low + share * (axis.high - axis.low);
  }
  // In words, with as many digits as a pixel tells.
  /** @param {PanelAxis} axis @param {number} share @param {number} pixels */
  static words(axis, share, pixels) {
    const v = PanelReader.value(axis, share), next = PanelReader.value(axis, share + 0.5 / pixels);
    if (axis.words.length) return axis.words[Math.round(v)] ?? '';
    if (axis.whole) return numberWords(Math.round(v), 1);
    if (axis.scale !== 'power') return numberWords(v, Math.abs(next - v));
    if (v > -3 && v < 5) return numberWords(10 ** v, 10 ** next - 10 ** v);
    return powerWords(Math.floor(v), 10 ** (v - Math.floor(v)), 1);
  }
  /** @param {number} x pixels */
  xWords(x) { return PanelReader.words(this.x, x / this.width, this.width); }
  /** @param {number} y pixels */
  yWords(y) { return PanelReader.words(this.y, 1 - y / this.height, this.height); }

  // What is said about a place, and where the finger of it stands.
  /** @param {Point} at */
  at(at) {
    if (this.heat) return this.cell(at);
    const lines = this.curves().filter(c => c.kind === 'line' || c.kind === 'steps' || c.kind === 'boxes');
    const dots = this.curves().filter(c => c.kind === 'dots');
    let best = null, least = kNear;
    for (const curve of dots) for (const p of curve.points) {
      const d = Math.hypot(p.x - at.x, p.y - at.y);
      if (d < least) { least = d; best = {curve, p}; }
    }
    // Names of coordinates may be empty: bare panels say nothing.
    if (!this.x.name && !this.y.name) return null;
    const rows = [];
    let x = at.x;
    if (best && (least < 8 || !lines.length)) {
      x = best.p.x;
      rows.push([best.curve.name || this.y.name, this.yWords(best.p.y)]);
      return {x, y: best.p.y, rows: [[this.x.name, this.xWords(x)], ...rows]};
    }
    let y = NaN, close = Infinity;
    for (const curve of lines) {
      const value = PanelReader.height(curve, at.x);
      if (value === null || value < -1 || value > this.height + 1) continue;
      if (Math.abs(value - at.y) < close) { close = Math.abs(value - at.y); y = value; }
      rows.push([curve.name || this.y.name, this.yWords(value)]);
    }
    return rows.length ? {x, y, rows: [[this.x.name, this.xWords(x)], ...rows]} : null;
  }
  // The height of a curve over x; of one that goes back and forth, of the first piece there.
  /** @param {Curve} curve @param {number} x @returns {number | null} */
  static height(curve, x) {
    const p = curve.points;
    for (let k = 1; k < p.length; ++k) {
      const a = p[k - 1], b = p[k];
      if ((a.x <= x) === (b.x <= x) && b.x !== x) continue;
      if (curve.kind === 'steps') return a.x <= x ? a.y : b.y;
      if (curve.kind === 'boxes') return Math.abs(a.x - x) < Math.abs(b.x - x) ? a.y : b.y;
      return a.x === b.x ? b.y : a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
    }
    return null;
  }
  /** @param {Point} at */
  cell(at) {
    const heat = /** @type {SVGElement} */ (this.heat);
    const [levels, low, high, columns, rows] = (heat.dataset.levels ?? '').split(' ').map(Number);
    const column = Math.floor(at.x / this.width * columns), row = Math.floor(at.y / this.height * rows);
    if (column < 0 || column >= columns || row < 0 || row >= rows) return null;
    this.cells ??= heat.localName === 'image' ? pngIndices(heat.getAttribute('href') ?? '', columns) : strokeLevels(heat, columns, rows);
    const level = this.cells[row * columns + column];
    if (!(level < levels)) return null;
    const step = (high - low) / levels, x = (column + 0.5) / columns, y = (row + 0.5) / rows;
    return {x: x * this.width, y: y * this.height,
            rows: [[this.x.name, PanelReader.words(this.x, x, this.width)], [this.y.name, PanelReader.words(this.y, 1 - y, this.height)],
                   [heat.dataset.name || 'value', '≈ ' + numberWords(low + step * (level + 0.5), step)]]};
  }
}

/** @param {string} name */
const svg = name => document.createElementNS('http://www.w3.org/2000/svg', name);

// A point of the screen in the box of a panel.
/** @param {SVGGElement} plot @param {PointerEvent} e @returns {Point} */
const inside = (plot, e) => {
  const matrix = plot.getScreenCTM();
  return matrix ? new DOMPoint(e.clientX, e.clientY).matrixTransform(matrix.inverse()) : {x: NaN, y: NaN};
};

/** @param {string} text */
const unscripted = text => text.replace(/[\^_]\{([^}]*)\}/g, (/** @type {string} */ _, /** @type {string} */ s) => s);

// Values on hover.
/** @param {Document | HTMLElement} root */
export function attach(root) {
  const tip = document.createElement('div'), line = svg('path'), dot = svg('circle');
  tip.className = 'tip readings';
  tip.hidden = true;
  document.body.append(tip);
  line.setAttribute('class', 'finger');
  dot.setAttribute('class', 'finger');
  dot.setAttribute('r', '4');
  const hide = () => { tip.hidden = true; line.remove(); dot.remove(); };
  for (const sheet of /** @type {NodeListOf<SVGSVGElement>} */ (root.querySelectorAll('svg.panel'))) {
    const plot = /** @type {SVGGElement | null} */ (sheet.querySelector('g.plot'));
    if (!plot) continue;
    /** @type {PanelReader | undefined} */
    let reader;
    sheet.addEventListener('pointermove', e => {
      reader ??= new PanelReader(plot);
      const at = inside(plot, e);
      const found = at.x >= 0 && at.x <= reader.width && at.y >= 0 && at.y <= reader.height ? reader.at(at) : null;
      if (!found) return hide();
      line.setAttribute('d', `M${found.x} 0V${reader.height}`);
      dot.setAttribute('cx', String(found.x)); dot.setAttribute('cy', String(found.y));
      plot.append(line);
      if (!isNaN(found.y)) plot.append(dot); else dot.remove();
      tip.replaceChildren(...found.rows.map(([name, value]) => {
        const row = document.createElement('div'), word = document.createElement('span'), number = document.createElement('b');
        word.textContent = unscripted(name) + ' ';
        number.textContent = value;
        row.append(word, number);
        return row;
      }));
      tip.hidden = false;
      const wide = tip.offsetWidth, left = e.clientX + 14 + wide > innerWidth - 8 ? e.clientX - 14 - wide : e.clientX + 14;
      tip.style.left = `${Math.max(4, left) + scrollX}px`;
      tip.style.top = `${e.clientY + 12 + scrollY}px`;
    });
    sheet.addEventListener('pointerleave', hide);
  }
}

/**
 * The moment of the moving picture on every panel that has its clock; a press there goes to that moment.
 * @param {Document | HTMLElement} root @param {Player} player @param {Record<string, (number | null)[]>} clocks
 */
export function link(root, player, clocks) {
  for (const plot of /** @type {NodeListOf<SVGGElement>} */ (root.querySelectorAll('g.plot[data-clock]'))) {
    const moments = clocks[plot.dataset.clock ?? ''];
    if (!moments) continue;
    const reader = new PanelReader(plot), cursor = svg('path');
    /** @param {number} v */
    const across = v => reader.width * (reader.x.scale === 'log'
      ? Math.log(v / reader.x.low) / Math.log(reader.x.high / reader.x.low)
      : (v - reader.x.low) / (reader.x.high - reader.x.low));
    // What cannot be drawn (t = 0 on a logarithmic axis) stands at the left end.
    const places = moments.map(v => v === null ? 0 : Math.min(reader.width, Math.max(0, across(v))));
    cursor.setAttribute('class', 'cursor');
    plot.append(cursor);
    player.watch(p => {
      const k = Math.min(Math.floor(p), places.length - 1), next = Math.min(k + 1, places.length - 1);
      const x = places[k] + (places[next] - places[k]) * (p - k);
      cursor.setAttribute('d', `M${x.toFixed(1)} 0V${reader.height}`);
    });
    const sheet = /** @type {SVGSVGElement} */ (plot.ownerSVGElement);
    /** @param {PointerEvent} e */
    const seek = e => {
      const at = inside(plot, e);
      if (!(at.x >= -4 && at.x <= reader.width + 4 && at.y >= 0 && at.y <= reader.height)) return;
      let k = 0;
      while (k + 1 < places.length && places[k + 1] <= at.x) ++k;
      const next = Math.min(k + 1, places.length - 1), step = places[next] - places[k];
      player.go(k + (step > 0 ? Math.min(1, Math.max(0, (at.x - places[k]) / step)) : 0));
    };
    sheet.classList.add('linked');
    sheet.addEventListener('pointerdown', e => { if (e.button === 0) { seek(e); sheet.setPointerCapture(e.pointerId); } });
    sheet.addEventListener('pointermove', e => { if (sheet.hasPointerCapture(e.pointerId)) seek(e); });
  }
}
