// @ts-check
// The viewer of moving pictures: mount(element, scene) fills an element with a picture, a slider and a
// button, and plays. No dependency; nothing of a scene is ever read as HTML. Colours come from the
// style of the element ("blue" is its --blue), so that the picture follows light and dark.
//
// A scene (report/scene.hpp, written by drawing/scene_json.cpp) shows tokens that move, or a plane with
// dots that grow and lines that bend; frames lie between its moments, mixed.

/**
 * @typedef {object} Tokens          tokens in three coordinates: right, up, towards the reader
 * @property {"circle" | "sphere" | "ball" | "space"} shape
 * @property {boolean} turnable
 * @property {number[]} [camera]     sphere: rows right, up, towards the reader
 * @property {string[]} palette
 * @property {string} group          base64 of bytes: the colour of each token
 * @property {string[]} frames       base64 of 16-bit numbers, 3 a token; 32000 is 1, -32768 unknown
 * @property {number[]} unit         space: the length that is drawn as 1
 * @property {string[]} axes         space: names of right and up
 */
/**
 * @typedef {object} Line
 * @property {string} colour
 * @property {number} width
 * @property {boolean} dashed
 * @property {boolean} filled
 * @property {boolean} arrow
 * @property {string[]} frames       base64 of 32-bit numbers: x, y of each point; one frame: it rests
 */
/**
 * @typedef {object} Plane           dots whose sizes change, and lines
 * @property {number[]} x            range
 * @property {number[]} y
 * @property {string[]} axes         names; none: no axes are drawn
 * @property {boolean} whole         both axes count
 * @property {number[]} dots         x, y of each
 * @property {string[]} colours      of dots
 * @property {string[]} names        of dots
 * @property {boolean[]} ringed      dots that are marked
 * @property {string} meaning        of a dot's size
 * @property {string[]} sizes        base64 of 16-bit numbers, one a dot; 32000 is 1
 * @property {Line[]} lines
 */
/**
 * @typedef {object} Scene
 * @property {string} title
 * @property {string} note           how to read it; markup
 * @property {string[]} labels       of the moments; markup: ^{...} raises, _{...} lowers
 * @property {Record<string, (number | null)[]>} clocks   moments on the axes of figures
 * @property {number} rest           the moment worth looking at
 * @property {Tokens} [tokens]
 * @property {Plane} [plane]
 */
/**
 * @typedef {object} Player
 * @property {() => number} position            0 to the number of moments - 1
 * @property {(position: number) => void} go    stops and shows it
 * @property {() => void} play
 * @property {() => void} stop
 * @property {(watcher: (position: number) => void) => void} watch   called whenever it has moved
 */

const kUnit = 32000, kUnknown = -32768, kSpot = 0.02;

/** @param {string} text @returns {Uint8Array} */
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
/** @param {string} text @returns {Float64Array} */
const shorts = text => {
  const raw = bytes(text), view = new DataView(raw.buffer), out = new Float64Array(raw.length / 2);
  for (let i = 0; i < out.length; ++i) {
    const value = view.getInt16(2 * i, true);
    out[i] = value === kUnknown ? NaN : value / kUnit;
  }
  return out;
};
/** @param {string} text @returns {Float64Array} */
const floats = text => {
  const raw = bytes(text), view = new DataView(raw.buffer), out = new Float64Array(raw.length / 4);
  for (let i = 0; i < out.length; ++i) out[i] = view.getFloat32(4 * i, true);
  return out;
};

// Markup as nodes: text, and raised or lowered text.
/** @param {string} markup @returns {Node[]} */
export const markupNodes = markup => {
  /** @type {Node[]} */
  const nodes = [];
  let rest = markup;
  for (let m; (m = /[\^_]\{([^}]*)\}/.exec(rest)) !== null;) {
    nodes.push(document.createTextNode(rest.slice(0, m.index)));
    const script = document.createElement(m[0][0] === '^' ? 'sup' : 'sub');
    script.textContent = m[1];
    nodes.push(script);
    rest = rest.slice(m.index + m[0].length);
  }
  nodes.push(document.createTextNode(rest));
  return nodes;
};

// m·10ⁿ with so many digits behind the point.
/** @param {number} exponent @param {number} mantissa @param {number} digits */
export const powerWords = (exponent, mantissa, digits) => {
  const m = mantissa.toFixed(digits).replace(/\.0+$|(\.\d*?)0+$/, '$1');
  const raised = [...String(exponent)].map(c => c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[+c]).join('');
  return `${m === '1' ? '' : m + '·'}10${raised}`;
};

// A number as people read it; `step` says which digits matter.
/** @param {number} value @param {number} [step] */
export const numberWords = (value, step = Math.abs(value) / 1000) => {
  if (!isFinite(value)) return '–';
  const size = Math.abs(value), sign = value < 0 ? '−' : '';
  if (size < step / 2 || size === 0) return '0';
  if (size >= 1e5 || size < 1e-3) {
    const e = Math.floor(Math.log10(size) + 1e-12);
    return sign + powerWords(e, size / 10 ** e, Math.min(4, Math.max(0, e - Math.floor(Math.log10(step || size)))));
  }
  const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return sign + size.toFixed(digits);
};

// Round numbers within a range, at most `most` apart from the ends.
/** @param {number} low @param {number} high @param {number} most @param {boolean} [whole] */
const roundNumbers = (low, high, most, whole = false) => {
  const least = (high - low) / most, decade = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map(f => f * decade).find(s => s >= least && (!whole || s >= 1)) ?? 10 * decade;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) found.push(k * step);
  return {step, found};
};

/** @param {number[]} a @param {number[]} b @returns {number[]} */
const times = (a, b) => a.map((_, i) => {
  const r = 3 * Math.floor(i / 3), k = i % 3;
  return a[r] * b[k] + a[r + 1] * b[k + 3] + a[r + 2] * b[k + 6];
});

/** One picture: draws itself at a position and tells what is at a point. */
class Canvas {
  /** @param {HTMLElement} box @param {HTMLCanvasElement} canvas */
  constructor(box, canvas) {
    this.box = box;
    this.canvas = canvas;
    this.c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.size = 1;
    /** @type {CSSStyleDeclaration} */
    this.css = getComputedStyle(box);
  }
  /** @param {string} name of a variable of the style, or #rrggbb */
  ink(name) { return name[0] === '#' ? name : this.css.getPropertyValue('--' + name).trim(); }
  /** A clean sheet, its middle the origin. */
  begin() {
    const pixels = window.devicePixelRatio || 1, {canvas, c} = this;
    this.css = getComputedStyle(this.box);
    this.size = Math.max(1, canvas.clientWidth);
    const side = Math.round(this.size * pixels);
    if (canvas.width !== side || canvas.height !== side) canvas.width = canvas.height = side;  // a new canvas is 300 by 150
    c.setTransform(pixels, 0, 0, pixels, this.size * pixels / 2, this.size * pixels / 2);
    c.clearRect(-this.size, -this.size, 2 * this.size, 2 * this.size);
    c.font = `12px ${this.css.fontFamily}`;
    c.lineJoin = 'round';
  }
  /** @param {number} x @param {number} y @param {number} r @param {string} fill @param {number} alpha @param {string} rim */
  dot(x, y, r, fill, alpha, rim) {
    const {c} = this;
    c.beginPath(); c.arc(x, y, r, 0, 7);
    c.globalAlpha = alpha; c.fillStyle = fill; c.fill();
    c.globalAlpha = 1; c.lineWidth = 1; c.strokeStyle = rim; c.stroke();
  }
  // A frame with ticks; pixel of a value by `right` and `up`.
  /**
   * @param {number[]} x @param {number[]} y @param {string[]} names @param {boolean} whole @param {number} half
   * @param {(v: number) => number} right @param {(v: number) => number} up
   */
  axes(x, y, names, whole, half, right, up) {
    const {c} = this;
    c.lineWidth = 1; c.fillStyle = this.ink('soft');
    for (const [range, across] of /** @type {[number[], boolean][]} */ ([[x, true], [y, false]])) {
      const {step, found} = roundNumbers(range[0], range[1], across ? 6 : 7, whole);
      for (const v of found) {
        const p = across ? right(v) : up(v);
        c.strokeStyle = this.ink('edge'); c.beginPath();
        if (across) { c.moveTo(p, -half); c.lineTo(p, half); } else { c.moveTo(-half, p); c.lineTo(half, p); }
        c.stroke();
        c.textAlign = across ? 'center' : 'right'; c.textBaseline = across ? 'top' : 'middle';
        if (across) c.fillText(numberWords(v, step), p, half + 6); else c.fillText(numberWords(v, step), -half - 6, p);
      }
    }
    c.strokeStyle = this.ink('line'); c.beginPath();
    c.moveTo(-half, -half); c.lineTo(-half, half); c.lineTo(half, half); c.stroke();
    c.fillStyle = this.ink('ink'); c.textAlign = 'right'; c.textBaseline = 'bottom';
    c.fillText(plain(names[0]), half - 4, half - 4);
    c.textAlign = 'left'; c.textBaseline = 'top';
    c.fillText(plain(names[1]), -half + 6, -half + 2);
  }
}

// Markup for a canvas.
/** @param {string} markup */
const plain = markup => markup.replace(/[\^_]\{([^}]*)\}/g, (/** @type {string} */ _, /** @type {string} */ s) => s);

// Area grows by equal amounts.
/** @param {number} least @param {number} most @param {number} share */
const radiusOf = (least, most, share) => Math.sqrt(least * least + (most * most - least * least) * share);

/** @typedef {{x: number, y: number, r: number, words: string}} Spot */

class TokenPicture {
  /** @param {Canvas} canvas @param {Tokens} tokens */
  constructor(canvas, tokens) {
    this.canvas = canvas;
    this.tokens = tokens;
    this.group = bytes(tokens.group);
    this.frames = tokens.frames.map(shorts);
    this.turn = [1, 0, 0, 0, 1, 0, 0, 0, 1];
    this.radius = 1;  // pixels of the unit
    /** @type {Spot[]} */
    this.seen = [];
  }
  /** @param {number} x @param {number} y @param {number} z */
  turned(x, y, z) {
    const m = this.turn;
    return [0, 3, 6].map(r => m[r] * x + m[r + 1] * y + m[r + 2] * z);
  }
  // Positions between two moments, back on the sphere where tokens live on one.
  /** @param {number} p */
  mixed(p) {
    const last = this.frames.length - 1, k = Math.min(Math.floor(p), last), u = p - k;
    const a = this.frames[k], b = this.frames[Math.min(k + 1, last)];
    const out = new Float64Array(a.length), round = this.tokens.shape === 'circle' || this.tokens.shape === 'sphere';
    for (let i = 0; i < out.length; i += 3) {
      let s = 0, m = 0;
      for (let j = i; j < i + 3; ++j) {
        out[j] = a[j] * (1 - u) + b[j] * u;
        s += out[j] * out[j];
        m += a[j] * a[j] * (1 - u) + b[j] * b[j] * u;
      }
      if (round && s > 1e-6) for (let j = i; j < i + 3; ++j) out[j] *= Math.sqrt(m / s);
    }
    return out;
  }
  // Tokens in one cell, or close in neighbouring ones, are one spot.
  /** @param {Float64Array} x */
  spots(x) {
    /** @typedef {{p: number[], n: number, of: number[], key: number}} Found */
    /** @type {Map<number, Found>} */
    const found = new Map();
    /** @param {Found} s @param {number[]} p @param {number} m */
    const add = (s, p, m) => { s.n += m; for (let j = 0; j < 3; ++j) s.p[j] += (p[j] - s.p[j]) * m / s.n; };
    for (let i = 0; i < this.group.length; ++i) {
      const p = [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
      if (isNaN(p[0] + p[1] + p[2])) continue;
      const key = p.reduce((k, v) => 1e4 * k + Math.round(v / kSpot), 0);
      let s = found.get(key);
      if (!s) found.set(key, s = {p: [0, 0, 0], n: 0, of: this.tokens.palette.map(() => 0), key});
      add(s, p, 1);
      s.of[this.group[i]]++;
    }
    const all = [...found.values()].sort((a, b) => b.n - a.n);
    for (const s of all) for (let k = 0; k < 27 && s.n > 1; ++k) {
      const o = found.get(s.key + 1e8 * (k % 3 - 1) + 1e4 * (Math.floor(k / 3) % 3 - 1) + Math.floor(k / 9) - 1);
      if (!o || o === s || !o.n || Math.hypot(...o.p.map((v, j) => v - s.p[j])) > kSpot) continue;
      add(s, o.p, o.n);
      o.of.forEach((v, g) => s.of[g] += v);
      o.n = 0;
    }
    return all.filter(s => s.n).map(s => ({...s, p: this.turned(s.p[0], s.p[1], s.p[2])}))
      .sort((a, b) => Number(a.p[2] >= 0) - Number(b.p[2] >= 0) || b.n - a.n);
  }
  // Meridians and parallels of one half.
  /** @param {boolean} back @param {string} line */
  grid(back, line) {
    const camera = this.tokens.camera, {c} = this.canvas, R = this.radius;
    if (!camera) return;
    c.strokeStyle = line; c.lineWidth = 1; c.beginPath();
    /** @param {number} count @param {(k: number) => number[]} point */
    const path = (count, point) => {
      let pen = false;
      for (let k = 0; k <= count; ++k) {
        const w = point(k), v = [0, 3, 6].map(r => camera[r] * w[0] + camera[r + 1] * w[1] + camera[r + 2] * w[2]);
        const p = this.turned(v[0], v[1], v[2]), seen = (p[2] < 0) === back;
        if (seen) { if (pen) c.lineTo(p[0] * R, -p[1] * R); else c.moveTo(p[0] * R, -p[1] * R); }
        pen = seen;
      }
    };
    /** @param {number} a @param {number} b */
    const at = (a, b) => [Math.cos(a) * Math.cos(b), Math.cos(a) * Math.sin(b), Math.sin(a)];
    const degree = Math.PI / 180;
    for (let a = -60; a <= 60; a += 30) path(90, k => at(a * degree, 4 * k * degree));
    for (let b = 0; b < 360; b += 30) path(45, k => at((4 * k - 90) * degree, b * degree));
    c.stroke();
  }
  // Where a point of the unit ball is drawn: many dimensions by angle, or the rim would be crowded.
  /** @param {number} x @param {number} y */
  place(x, y) {
    const r = Math.hypot(x, y);
    const s = this.tokens.shape === 'ball' && r > 1e-9 ? Math.asin(Math.min(1, r)) / (Math.PI / 2) / r : 1;
    return [x * s * this.radius, -y * s * this.radius];
  }
  /** @param {number} p */
  draw(p) {
    const {canvas, tokens} = this, {c} = canvas, n = this.group.length;
    canvas.begin();
    const space = tokens.shape === 'space', size = canvas.size;
    this.radius = space ? size / 2 - 46 : size / 2.2;
    const rim = canvas.ink('card'), R = this.radius;
    const all = this.spots(this.mixed(p)), r0 = n <= 100 ? 4.5 : n <= 400 ? 3.4 : 2.4, r1 = 22 * size / 440;
    /** @type {Spot[]} */
    this.seen = [];
    /** @param {boolean} back */
    const dots = back => all.forEach(s => {
      if ((tokens.shape === 'sphere' && s.p[2] < 0) !== back) return;
      const r = radiusOf(r0, r1, n > 1 ? (s.n - 1) / (n - 1) : 0), [x, y] = this.place(s.p[0], s.p[1]);
      canvas.dot(x, y, r, canvas.ink(tokens.palette[s.of.indexOf(Math.max(...s.of))]), back ? 0.36 : 1, rim);
      this.seen.push({x, y, r, words: s.n === 1 ? 'one token' : `${s.n} tokens`});
    });
    if (space) {
      const k = Math.min(Math.floor(p), tokens.unit.length - 1), next = Math.min(k + 1, tokens.unit.length - 1);
      const unit = Math.exp(Math.log(tokens.unit[k]) * (1 - p + k) + Math.log(tokens.unit[next]) * (p - k)) * 1.06;
      this.radius = R / 1.06;
      canvas.axes([-unit, unit], [-unit, unit], tokens.axes, false, R, v => v / unit * R, v => -v / unit * R);
    } else if (tokens.shape === 'ball') {
      c.strokeStyle = canvas.ink('back'); c.lineWidth = 1;
      for (const angle of [30, 60]) { c.beginPath(); c.arc(0, 0, R * angle / 90, 0, 7); c.stroke(); }
    }
    this.grid(true, canvas.ink('back'));
    dots(true);
    if (!space) { c.beginPath(); c.arc(0, 0, R, 0, 7); c.strokeStyle = canvas.ink('line'); c.lineWidth = 1.3; c.stroke(); }
    this.grid(false, canvas.ink('front'));
    dots(false);
  }
  /** @param {number} a @param {number} b radians to the right and down */
  turnBy(a, b) {
    this.turn = times([1, 0, 0, 0, Math.cos(b), -Math.sin(b), 0, Math.sin(b), Math.cos(b)],
                      times([Math.cos(a), 0, Math.sin(a), 0, 1, 0, -Math.sin(a), 0, Math.cos(a)], this.turn));
  }
  straighten() { this.turn = [1, 0, 0, 0, 1, 0, 0, 0, 1]; }
}

class PlanePicture {
  /** @param {Canvas} canvas @param {Plane} plane */
  constructor(canvas, plane) {
    this.canvas = canvas;
    this.plane = plane;
    this.sizes = plane.sizes.map(shorts);
    this.lines = plane.lines.map(line => ({...line, points: line.frames.map(floats)}));
    this.radius = 1;
    /** @type {Spot[]} */
    this.seen = [];
  }
  /** @param {Float64Array[]} frames @param {number} p */
  mixed(frames, p) {
    const last = frames.length - 1, k = Math.min(Math.floor(p), last), u = p - k;
    const a = frames[k], b = frames[Math.min(k + 1, last)];
    return u > 0 && a.length === b.length ? a.map((v, i) => v * (1 - u) + b[i] * u) : a;
  }
  /** @param {number} p */
  draw(p) {
    const {canvas, plane} = this, {c} = canvas;
    canvas.begin();
    const half = canvas.size / 2 - (plane.axes.length ? 44 : 6);
    this.radius = half;
    /** @param {number} v */
    const right = v => half * (2 * (v - plane.x[0]) / (plane.x[1] - plane.x[0]) - 1);
    /** @param {number} v */
    const up = v => -half * (2 * (v - plane.y[0]) / (plane.y[1] - plane.y[0]) - 1);
    if (plane.axes.length) {
      // Where both axes count, ticks stand where dots do.
      /** @param {number} first @param {number[]} range */
      const ticked = (first, range) => plane.whole
        ? [0, Math.max(0, ...plane.dots.filter((_, i) => i % 2 === first))] : range;
      canvas.axes(ticked(0, plane.x), ticked(1, plane.y), plane.axes, plane.whole, half, right, up);
    }
    c.save();
    c.beginPath(); c.rect(-half, -half, 2 * half, 2 * half); c.clip();
    for (const line of this.lines) this.stroke(line, this.mixed(line.points, p), right, up);
    c.restore();
    /** @type {Spot[]} */
    this.seen = [];
    if (!this.sizes.length) return;
    const sizes = this.mixed(this.sizes, p), rim = canvas.ink('card'), n = sizes.length;
    const cell = plane.whole ? half / Math.max(plane.x[1] - plane.x[0], plane.y[1] - plane.y[0]) : canvas.size / 24;
    const r0 = Math.min(n <= 100 ? 4 : 2.4, 0.35 * cell), r1 = Math.max(r0, Math.min(canvas.size / 24, 0.9 * cell));
    sizes.forEach((share, i) => {
      const x = right(plane.dots[2 * i]), y = up(plane.dots[2 * i + 1]), r = radiusOf(r0, r1, Math.max(0, share));
      canvas.dot(x, y, r, canvas.ink(plane.colours[i]), 0.9, rim);
      if (plane.ringed[i]) {
        c.beginPath(); c.arc(x, y, r + 3, 0, 7); c.lineWidth = 1.4; c.strokeStyle = canvas.ink('ink'); c.stroke();
      }
      this.seen.push({x, y, r, words: `${plane.names[i]}: ${plane.meaning} ${numberWords(share, 1e-3)}`});
    });
  }
  /** @param {Line} line @param {Float64Array} points @param {(v: number) => number} right @param {(v: number) => number} up */
  stroke(line, points, right, up) {
    const {c} = this.canvas;
    c.beginPath();
    let pen = false;
    for (let i = 0; i < points.length; i += 2) {
      if (isNaN(points[i])) { pen = false; continue; }
      const x = right(points[i]), y = up(points[i + 1]);
      if (pen) c.lineTo(x, y); else c.moveTo(x, y);
      pen = true;
    }
    c.strokeStyle = c.fillStyle = this.canvas.ink(line.colour); c.lineWidth = line.width;
    c.setLineDash(line.dashed ? [6, 4] : []);
    if (line.filled) { c.globalAlpha = 0.28; c.fill('evenodd'); c.globalAlpha = 1; }
    c.stroke();
    c.setLineDash([]);
    if (line.arrow && points.length >= 4) this.head(points, right, up);
  }
  /** @param {Float64Array} points @param {(v: number) => number} right @param {(v: number) => number} up */
  head(points, right, up) {
    const {c} = this.canvas, n = points.length;
    const x = right(points[n - 2]), y = up(points[n - 1]);
    const a = Math.atan2(y - up(points[n - 3]), x - right(points[n - 4]));
    if (isNaN(a)) return;
    c.beginPath();
    for (const turn of [0, 2.6, -2.6]) c.lineTo(x + (turn ? 10 * Math.cos(a + turn) : 0), y + (turn ? 10 * Math.sin(a + turn) : 0));
    c.closePath(); c.fill();
  }
  turnBy() {}
  straighten() {}
}

/** @template {keyof HTMLElementTagNameMap} K @param {K} name @param {string} [kind] @returns {HTMLElementTagNameMap[K]} */
const element = (name, kind) => {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  return made;
};

/**
 * What stands in the element: the picture, its controls, words about it.
 * @param {HTMLElement} box @param {Scene} scene
 */
function furnish(box, scene) {
  const canvas = element('canvas'), button = element('button'), slider = element('input'), when = element('p', 'when');
  const controls = element('div', 'controls'), note = element('p', 'note'), tip = element('div', 'tip');
  const last = scene.labels.length - 1;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', plain(scene.title));
  slider.type = 'range'; slider.min = '0'; slider.step = 'any';
  slider.max = String(last); slider.value = String(scene.rest);
  slider.setAttribute('aria-label', 'Time');
  button.type = 'button';
  tip.hidden = true;
  note.append(...markupNodes(scene.note));
  controls.append(button, slider);
  controls.hidden = last === 0;
  box.replaceChildren(canvas, controls, when, note, tip);
  return {canvas, button, slider, when, tip, last};
}

/**
 * The pointer turns the picture, if it can be turned, and names what is under it.
 * @param {HTMLCanvasElement} canvas @param {TokenPicture | PlanePicture} picture @param {HTMLElement} tip
 * @param {boolean} turnable @param {() => void} redraw
 */
function followPointer(canvas, picture, tip, turnable, redraw) {
  /** @param {PointerEvent} e */
  const point = e => {
    const frame = canvas.getBoundingClientRect();
    const x = e.clientX - frame.left - frame.width / 2, y = e.clientY - frame.top - frame.height / 2;
    const near = picture.seen.filter(s => Math.hypot(s.x - x, s.y - y) < Math.max(8, s.r)).pop();
    tip.hidden = !near;
    if (!near) return;
    tip.textContent = near.words;
    tip.style.left = `${canvas.offsetLeft + frame.width / 2 + near.x}px`;
    tip.style.top = `${canvas.offsetTop + frame.height / 2 + near.y - near.r}px`;
  };
  if (turnable) canvas.classList.add('turnable');
  canvas.onpointerdown = e => { if (turnable) canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = e => {
    if (!turnable || !canvas.hasPointerCapture(e.pointerId)) return point(e);
    tip.hidden = true;
    picture.turnBy(e.movementX / picture.radius, e.movementY / picture.radius);
    redraw();
  };
  canvas.onpointerleave = () => { tip.hidden = true; };
  canvas.ondblclick = () => { picture.straighten(); redraw(); };
}

/**
 * Calls `begin` a moment after the reader first sees half of the element, unless less motion is asked for.
 * @param {HTMLElement} seen @param {() => void} begin
 */
function onceSeen(seen, begin) {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  const watcher = new IntersectionObserver(entries => {
    if (!entries.some(e => e.isIntersecting)) return;
    watcher.disconnect();
    setTimeout(begin, 900);
  }, {threshold: 0.5});
  watcher.observe(seen);
}

/**
 * Fills the element with the scene and plays it once from the moment worth looking at, unless the
 * reader asked for less motion; options.loop: again and again.
 * @param {HTMLElement} box @param {Scene} scene @param {{loop?: boolean}} [options] @returns {Player}
 */
export function mount(box, scene, options = {}) {
  const {canvas, button, slider, when, tip, last} = furnish(box, scene);
  const sheet = new Canvas(box, canvas);
  const picture = scene.tokens ? new TokenPicture(sheet, scene.tokens)
    : new PlanePicture(sheet, /** @type {Plane} */ (scene.plane));
  /** @type {((position: number) => void)[]} */
  const watchers = [];
  const pace = Math.min(450, Math.max(60, 14000 / Math.max(1, last)));  // milliseconds from moment to moment
  let playing = false, then = 0, queued = false, told = '';

  const position = () => Number(slider.value);
  const draw = () => {
    queued = false;
    picture.draw(position());
    const label = scene.labels[Math.round(position())];
    if (label !== told) when.replaceChildren(...markupNodes(told = label));
    watchers.forEach(w => w(position()));
  };
  const redraw = () => { if (!queued) { queued = true; requestAnimationFrame(draw); } };
  const sign = () => {
    button.textContent = playing ? '❚❚' : '▶';
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play');
  };
  const stop = () => { playing = false; sign(); };
  /** @param {number} to */
  const go = to => { stop(); slider.value = String(Math.min(last, Math.max(0, to))); redraw(); };
  /** @param {number} now */
  const advance = now => {
    if (!playing) return;
    const p = position() + Math.min(now - then, 100) / pace;
    then = now;
    slider.value = String(Math.min(p, last));
    draw();
    if (p < last) requestAnimationFrame(advance);
    else if (options.loop) setTimeout(again, 1500);
    else { stop(); if (returns) setTimeout(back, 1800); }
  };
  const again = () => {
    if (!playing) return;
    slider.value = '0';
    then = performance.now();
    requestAnimationFrame(advance);
  };
  const back = () => { if (!playing && returns) { returns = false; go(scene.rest); } };
  let returns = false;  // after the first play by itself
  const play = () => {
    if (playing || last === 0) return;
    playing = true; sign();
    if (position() >= last) slider.value = '0';
    then = performance.now();
    requestAnimationFrame(advance);
  };

  button.onclick = () => { returns = false; if (playing) stop(); else play(); };
  slider.oninput = () => { returns = false; stop(); redraw(); };
  slider.onkeydown = e => {
    const step = /** @type {Record<string, number>} */ ({ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1})[e.key];
    if (!step) return;
    e.preventDefault(); returns = false;
    go(Math.round(position()) + step);
  };
  followPointer(canvas, picture, tip, scene.tokens?.turnable ?? false, redraw);
  new ResizeObserver(redraw).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  sign();
  draw();

  if (last > 0)
    onceSeen(canvas, () => {
      if (playing || position() !== scene.rest) return;
      if (scene.rest === last) slider.value = '0'; else returns = !options.loop;
      play();
    });
  return {position, go: to => { returns = false; go(to); }, play, stop, watch: w => { watchers.push(w); w(position()); }};
}
