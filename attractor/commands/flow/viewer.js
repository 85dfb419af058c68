// Colours of the drawing come from the style of the page, so that it follows light and dark.
(() => {
const V = JSON.parse(document.getElementById('viewer-data').textContent);
const box = document.getElementById('viewer'), canvas = box.querySelector('canvas');
const slider = box.querySelector('input'), button = box.querySelector('button');
const when = box.querySelector('.when'), c = canvas.getContext('2d');
const last = V.frames.length - 1, n = V.group.length;
let turn = [1, 0, 0, 0, 1, 0, 0, 0, 1], playing = false, then = 0, queued = false;
const times = (a, b) => a.map((_, i) => {
  const r = 3 * Math.floor(i / 3), k = i % 3;
  return a[r] * b[k] + a[r + 1] * b[k + 3] + a[r + 2] * b[k + 6];
});
const turned = (x, y, z) => [0, 3, 6].map(r => turn[r] * x + turn[r + 1] * y + turn[r + 2] * z);
const mixed = (p) => {  // positions between snapshots, back on the sphere
  const k = Math.min(Math.floor(p), last), u = p - k, a = V.frames[k], b = V.frames[Math.min(k + 1, last)];
  const out = new Float64Array(3 * n);
  for (let i = 0; i < n; ++i) {
    let s = 0, m = 0;
    for (let j = 3 * i; j < 3 * i + 3; ++j) {
      out[j] = a[j] === null || b[j] === null ? NaN : (a[j] * (1 - u) + b[j] * u) / 1000;
      s += out[j] * out[j];
      m += a[j] * a[j] / 1e6 * (1 - u) + b[j] * b[j] / 1e6 * u;
    }
    if (V.round && s > 1e-6)
      for (let j = 3 * i; j < 3 * i + 3; ++j) out[j] *= Math.sqrt(m / s);
  }
  return out;
};
const add = (s, p, m) => { s.n += m; for (let j = 0; j < 3; ++j) s.p[j] += (p[j] - s.p[j]) * m / s.n; };
const spots = (x) => {  // tokens in one cell, or close in neighbouring ones, are one marker
  const found = new Map();
  for (let i = 0; i < n; ++i) {
    const p = [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
    if (isNaN(p[0] + p[1] + p[2])) continue;
    const key = 1e4 * (1e4 * Math.round(50 * p[0]) + Math.round(50 * p[1])) + Math.round(50 * p[2]);
    let s = found.get(key);
    if (!s) found.set(key, s = {p: [0, 0, 0], n: 0, of: V.palette.map(() => 0), key});
    add(s, p, 1);
    s.of[V.group[i]]++;
  }
  const all = [...found.values()].sort((a, b) => b.n - a.n);
  for (const s of all) for (let k = 0; k < 27 && s.n > 1; ++k) {
    const o = found.get(s.key + 1e8 * (k % 3 - 1) + 1e4 * (Math.floor(k / 3) % 3 - 1) + Math.floor(k / 9) - 1);
    if (!o || o === s || !o.n || Math.hypot(...o.p.map((v, j) => v - s.p[j])) > 0.02) continue;
    add(s, o.p, o.n);
    o.of.forEach((v, g) => s.of[g] += v);
    o.n = 0;
  }
  const kept = all.filter(s => s.n);
  kept.forEach(s => s.p = turned(...s.p));
  return kept.sort((a, b) => (a.p[2] >= 0) - (b.p[2] >= 0) || b.n - a.n);
};
const grid = (half, line) => {
  if (!V.camera) return;
  c.strokeStyle = line; c.lineWidth = 1; c.beginPath();
  const path = (count, point) => {
    let pen = false;
    for (let k = 0; k <= count; ++k) {
      const w = point(k), v = [0, 3, 6].map(r => V.camera[r] * w[0] + V.camera[r + 1] * w[1] + V.camera[r + 2] * w[2]);
      const p = turned(...v), seen = (p[2] < 0) === half;
      if (seen) pen ? c.lineTo(p[0] * R, -p[1] * R) : c.moveTo(p[0] * R, -p[1] * R);
      pen = seen;
    }
  };
  const d = Math.PI / 180, at = (a, b) => [Math.cos(a) * Math.cos(b), Math.cos(a) * Math.sin(b), Math.sin(a)];
  for (let a = -60; a <= 60; a += 30) path(90, k => at(a * d, 4 * k * d));
  for (let b = 0; b < 360; b += 30) path(45, k => at((4 * k - 90) * d, b * d));
  c.stroke();
};
let R = 1;
const draw = () => {
  queued = false;
  const css = getComputedStyle(box), pixels = window.devicePixelRatio || 1, size = canvas.clientWidth;
  if (canvas.width !== Math.round(size * pixels)) canvas.width = canvas.height = Math.round(size * pixels);
  c.setTransform(pixels, 0, 0, pixels, size * pixels / 2, size * pixels / 2);
  c.clearRect(-size, -size, 2 * size, 2 * size);
  R = size / 2.2;
  const ink = name => css.getPropertyValue(name).trim(), rim = ink('--card');
  const all = spots(mixed(+slider.value)), r0 = n <= 100 ? 4.5 : n <= 400 ? 3.4 : 2.4, r1 = 22 * size / 440;
  const dots = half => all.forEach(s => {
    if ((V.surface && s.p[2] < 0) !== half) return;
    const r = Math.sqrt(r0 * r0 + (r1 * r1 - r0 * r0) * (n > 1 ? (s.n - 1) / (n - 1) : 0));
    c.beginPath(); c.arc(s.p[0] * R, -s.p[1] * R, r, 0, 7);
    c.globalAlpha = half ? 0.36 : 1;
    c.fillStyle = V.palette[s.of.indexOf(Math.max(...s.of))]; c.fill();
    c.globalAlpha = 1; c.lineWidth = 1; c.strokeStyle = rim; c.stroke();
  });
  grid(true, ink('--back'));
  dots(true);
  if (V.outline) { c.beginPath(); c.arc(0, 0, R, 0, 7); c.strokeStyle = ink('--line'); c.lineWidth = 1.3; c.stroke(); }
  grid(false, ink('--front'));
  dots(false);
  when.innerHTML = V.labels[Math.round(+slider.value)];
};
const redraw = () => { if (!queued) { queued = true; requestAnimationFrame(draw); } };
const play = now => {
  if (!playing) return;
  const p = +slider.value + Math.min(now - then, 100) / 450;
  then = now; slider.value = Math.min(p, last); draw();
  if (p >= last) stop(); else requestAnimationFrame(play);
};
const stop = () => { playing = false; button.textContent = '▶'; button.setAttribute('aria-label', 'Play'); };
button.onclick = () => {
  if (playing) return stop();
  playing = true; button.textContent = '❚❚'; button.setAttribute('aria-label', 'Pause');
  if (+slider.value >= last) slider.value = 0;
  then = performance.now(); requestAnimationFrame(play);
};
slider.oninput = () => { stop(); redraw(); };
slider.onkeydown = e => {
  const step = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1}[e.key];
  if (!step) return;
  e.preventDefault(); stop();
  slider.value = Math.max(0, Math.min(last, Math.round(+slider.value) + step)); redraw();
};
if (V.turnable) {
  canvas.onpointerdown = e => canvas.setPointerCapture(e.pointerId);
  canvas.onpointermove = e => {
    if (!canvas.hasPointerCapture(e.pointerId)) return;
    const a = e.movementX / R, b = e.movementY / R;
    turn = times([1, 0, 0, 0, Math.cos(b), -Math.sin(b), 0, Math.sin(b), Math.cos(b)],
                 times([Math.cos(a), 0, Math.sin(a), 0, 1, 0, -Math.sin(a), 0, Math.cos(a)], turn));
    redraw();
  };
  canvas.ondblclick = () => { turn = [1, 0, 0, 0, 1, 0, 0, 0, 1]; redraw(); };
}
new ResizeObserver(redraw).observe(canvas);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
draw();
})();
