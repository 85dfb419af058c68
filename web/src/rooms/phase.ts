// The phase room: which pairs have met, over time and beta, computed by tiles in several workers, coarse first. A click opens that flow in the depth room.
import {Core, CoreError} from '../core/client';
import type {Asked, Settings} from '../core/messages';
import {button, choice, group, Readout, slider} from '../page/controls';
import {colour, h, replace, rounded, svg} from '../page/dom';
import {saveSvg, svgAsPng} from '../page/export';
import {usualValues, type Fields, type Values} from '../page/link';
import type {Exported, Page, Room} from './room';

export const phaseFields: Fields = {
  dynamics: {kind: 'word', words: ['sa', 'usa'], usual: 'sa'},
  tokens: {kind: 'number', min: 2, max: 128, whole: true, usual: 32},
  dim: {kind: 'number', min: 2, max: 256, whole: true, usual: 2},
  low: {kind: 'number', min: 0, max: 100, usual: 0.1},
  high: {kind: 'number', min: 0.2, max: 100, usual: 9},
  time: {kind: 'number', min: 0.1, max: 200, usual: 30},
  seed: {kind: 'number', min: 0, max: 1e9, whole: true, usual: 0},
};

const kColumns = 72, kRows = 60, kTile = 6, kWidth = 720, kHeight = 470, kLeft = 52, kTop = 12, kRight = 708, kBottom = 424;
const passes = [8, 32, 96];  // systems of a column

/** Cividis, in a few stops: it reads alike for every colour vision. */
const stops = [[0, 34, 78], [42, 63, 111], [87, 93, 109], [124, 123, 120], [165, 156, 116], [209, 191, 99], [255, 234, 70]];
const shade = (share: number): string => {
  const x = Math.max(0, Math.min(1, share)) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(x)), f = x - k;
  return `rgb(${stops[k].map((c, i) => Math.round(c + f * (stops[k + 1][i] - c))).join(' ')})`;
};

interface Column {
  beta: number;
  weight: number;
  fraction: number[];
  half: number | null;
  theory: number | null;
}

export class PhaseRoom implements Room {
  readonly name = 'phase';
  readonly title = 'Phase';
  readonly fields = phaseFields;
  readonly root: HTMLElement;
  private state = usualValues(phaseFields);
  private columns: Column[] = [];
  private run = 0;
  private cores: Core[] = [];
  private done = 0;
  private cursor = {x: 0.5, y: 0.5};
  private picture = svg('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, class: 'phase-map', role: 'application', tabindex: 0, 'aria-label': 'Phase diagram; arrow keys move the cross, Enter opens that flow', id: 'phase-map'}) as SVGSVGElement;
  private canvas = h('canvas', {width: kColumns, height: kRows});
  private image = svg('image', {x: kLeft, y: kTop, width: kRight - kLeft, height: kBottom - kTop, preserveAspectRatio: 'none', style: 'image-rendering: pixelated'});
  private over = svg('g');
  private cross = svg('g', {class: 'cross'});
  private readout = new Readout();
  private progress = h('progress', {max: 1, value: 0, 'aria-label': 'computed'});
  private words = h('p', {class: 'headline', id: 'phase-words'});
  private sliders = {
    tokens: slider({id: 'phase-tokens', label: 'n  tokens', min: 2, max: 128, log: true, whole: true, value: 32, change: (v, done) => done && this.set({tokens: v})}),
    dim: slider({id: 'phase-dim', label: 'd  dimension', min: 2, max: 256, log: true, whole: true, value: 2, change: (v, done) => done && this.set({dim: v})}),
    high: slider({id: 'phase-high', label: 'β up to', min: 0.2, max: 100, log: true, value: 9, change: (v, done) => done && this.set({high: Math.max(v, Number(this.state.low) + 0.1)})}),
    time: slider({id: 'phase-time', label: 't up to', min: 0.1, max: 200, log: true, value: 30, change: (v, done) => done && this.set({time: v})}),
  };
  private dynamics = choice('phase-dynamics', 'attention', [['sa', 'softmax'], ['usa', 'unnormalised']], 'sa', v => this.set(v === 'usa' ? {dynamics: v, time: 1} : {dynamics: v, time: 30}));

  constructor(private page: Page) {
    this.picture.append(this.image, this.over, this.cross);
    const s = this.sliders;
    this.root = h('section', {class: 'room phase', 'aria-label': 'Phase room'},
      h('aside', {class: 'panel controls'}, group('Systems', this.dynamics.root, s.tokens.root, s.dim.root), group('Range', s.high.root, s.time.root), h('div', {class: 'bar'}, button('New seed', () => this.set({seed: (Number(this.state.seed) + 1) % 1e9}), {id: 'phase-seed'}))),
      h('div', {class: 'middle'}, this.words, h('div', {class: 'stage-box'}, this.picture), this.progress),
      h('aside', {class: 'panel facts'}, this.readout.root, h('p', {class: 'note'}, 'Colour: the share of pairs whose cosine has passed 0.999, a mean over random starts. Line: when equiangular tokens would get there. Click a point to open that flow.'), this.legend()));
    const at = (event: MouseEvent) => {
      const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.picture.getScreenCTM()!.inverse());
      return {x: (p.x - kLeft) / (kRight - kLeft), y: (kBottom - p.y) / (kBottom - kTop)};
    };
    this.picture.addEventListener('pointermove', event => this.point(at(event)));
    this.picture.addEventListener('click', event => {
      this.point(at(event));
      this.openFlow();
    });
    this.picture.addEventListener('keydown', event => {
      const by: Record<string, [number, number]> = {ArrowLeft: [-0.02, 0], ArrowRight: [0.02, 0], ArrowUp: [0, 0.02], ArrowDown: [0, -0.02]};
      if (by[event.key]) event.preventDefault(), event.stopPropagation(), this.point({x: this.cursor.x + by[event.key][0], y: this.cursor.y + by[event.key][1]});
      if (event.key === 'Enter') this.openFlow();
    });
  }

  private legend(): HTMLElement {
    return h('div', {class: 'legend'}, h('span', {}, '0'), h('span', {class: 'ramp', style: `background: linear-gradient(to right, ${[0, 0.2, 0.4, 0.6, 0.8, 1].map(shade).join(', ')})`}), h('span', {}, '1'));
  }

  values(): Values {
    return {...this.state};
  }

  async open(values: Values): Promise<void> {
    this.state = {...values};
    if (Number(this.state.high) <= Number(this.state.low)) this.state.high = Number(this.state.low) + 1;
    const s = this.sliders, v = this.state;
    s.tokens.set(Number(v.tokens)), s.dim.set(Number(v.dim)), s.high.set(Number(v.high)), s.time.set(Number(v.time));
    this.dynamics.set(String(v.dynamics));
    this.axes();
    void this.compute();
  }

  private set(some: Values) {
    void this.open({...this.state, ...some});
    this.page.changed();
  }

  private beta(share: number) {
    return Number(this.state.low) + share * (Number(this.state.high) - Number(this.state.low));
  }

  private settings(betas: number[], replicates: number, first: number): Settings {
    const v = this.state;
    return {dynamics: v.dynamics, tokens: v.tokens, dim: v.dim, beta: betas.map(b => b.toPrecision(8)).join(','), time: v.time, outputs: kRows, replicates, seed: v.seed, 'first-replicate': first};
  }

  command(): string {
    const v = this.state;
    return `attractor phase --dynamics ${v.dynamics} --tokens ${v.tokens} --dim ${v.dim} --beta ${v.low}:${v.high}:${kColumns} --time ${v.time} --outputs ${kRows} --replicates ${passes.reduce((a, b) => a + b)} --seed ${v.seed}`;
  }

  private async compute(): Promise<void> {
    const mine = ++this.run;
    for (const core of this.cores) if (core.busy) core.restart();
    const workers = Math.max(1, Math.min(4, navigator.hardwareConcurrency - 1));
    while (this.cores.length < workers) this.cores.push(new Core());
    this.columns = Array.from({length: kColumns}, (_, k) => ({beta: this.beta(k / (kColumns - 1)), weight: 0, fraction: new Array<number>(kRows).fill(0), half: null, theory: null}));
    const context = this.canvas.getContext('2d')!;
    context.clearRect(0, 0, kColumns, kRows);
    this.paint();
    const tiles: {columns: number[]; replicates: number; first: number}[] = [];
    passes.forEach((replicates, pass) => {
      const first = passes.slice(0, pass).reduce((a, b) => a + b, 0);
      for (let k = 0; k < kColumns; k += kTile) tiles.push({columns: Array.from({length: kTile}, (_, c) => k + c), replicates, first});
    });
    const total = tiles.length;
    this.done = 0;
    const work = async (core: Core) => {
      for (let tile = tiles.shift(); tile && mine === this.run; tile = tiles.shift()) {
        const asked = await core.value<Asked>('ask', {command: 'phase', settings: this.settings(tile.columns.map(k => this.columns[k].beta), tile.replicates, tile.first)});
        if (mine !== this.run) return;
        this.take(tile, asked);
        this.progress.value = ++this.done / total;
        replace(this.words, `${this.done} of ${total} tiles, ${workers} ${workers > 1 ? 'workers' : 'worker'}`);
      }
    };
    try {
      await Promise.all(this.cores.map(work));
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      if (mine === this.run) this.page.say(`${error.message}.`, 'error');
    }
  }

  private take(tile: {columns: number[]; replicates: number}, asked: Asked) {
    const rows = asked.tables.diagram.rows, curve = asked.tables.curves.rows, context = this.canvas.getContext('2d')!;
    tile.columns.forEach((k, c) => {
      const column = this.columns[k], whole = column.weight + tile.replicates;
      for (let r = 0; r < kRows; ++r) {
        const share = rows[c * kRows + r][2] ?? 0;
        column.fraction[r] = (column.fraction[r] * column.weight + share * tile.replicates) / whole;
        context.fillStyle = shade(column.fraction[r]);
        context.fillRect(k, kRows - 1 - r, 1, 1);
      }
      column.weight = whole;
      column.half = curve[c][1];
      column.theory = curve[c][2];
    });
    this.paint();
  }

  private painting = false;
  private paint() {
    if (this.painting) return;
    this.painting = true;
    requestAnimationFrame(() => {
      this.painting = false;
      this.image.setAttribute('href', this.canvas.toDataURL());
      this.line();
    });
  }

  private axes() {
    this.point(this.cursor);
  }

  private line() {
    const end = Number(this.state.time), parts: SVGElement[] = [];
    let d = '';
    this.columns.forEach((c, k) => {
      if (c.theory === null || c.theory > end) return;
      const x = kLeft + ((k + 0.5) / kColumns) * (kRight - kLeft), y = kBottom - (c.theory / end) * (kBottom - kTop);
      d += `${d === '' ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    });
    if (d !== '') parts.push(svg('path', {d, class: 'theory'}));
    for (let k = 0; k <= 4; ++k) {
      const x = kLeft + (k / 4) * (kRight - kLeft), y = kBottom - (k / 4) * (kBottom - kTop);
      parts.push(svg('text', {x, y: kBottom + 18, 'text-anchor': 'middle'}, rounded(this.beta(k / 4), 3)), svg('text', {x: kLeft - 8, y: y + 4, 'text-anchor': 'end'}, rounded((end * k) / 4, 3)));
    }
    parts.push(svg('text', {x: (kLeft + kRight) / 2, y: kHeight - 8, 'text-anchor': 'middle', class: 'axis-name'}, 'inverse temperature β'), svg('text', {x: 12, y: (kTop + kBottom) / 2, 'text-anchor': 'middle', transform: `rotate(-90 12 ${(kTop + kBottom) / 2})`, class: 'axis-name'}, 'time t'));
    replace(this.over, ...parts);
  }

  private point(at: {x: number; y: number}) {
    this.cursor = {x: Math.max(0, Math.min(1, at.x)), y: Math.max(0, Math.min(1, at.y))};
    const x = kLeft + this.cursor.x * (kRight - kLeft), y = kBottom - this.cursor.y * (kBottom - kTop);
    replace(this.cross, svg('line', {x1: x, x2: x, y1: kTop, y2: kBottom}), svg('line', {x1: kLeft, x2: kRight, y1: y, y2: y}), svg('circle', {cx: x, cy: y, r: 6, fill: 'none', stroke: colour('accent')}));
    const column = this.columns[Math.min(kColumns - 1, Math.floor(this.cursor.x * kColumns))], row = Math.min(kRows - 1, Math.floor(this.cursor.y * kRows));
    const r = this.readout;
    r.set('β', rounded(this.beta(this.cursor.x), 4));
    r.set('t', rounded(this.cursor.y * Number(this.state.time), 4));
    r.set('pairs that have met', column && column.weight > 0 ? `${rounded(100 * column.fraction[row], 3)} %` : '–');
    r.set('half of them at t', rounded(column?.half));
    r.set('equiangular at t', rounded(column?.theory));
    r.set('systems', String(column?.weight ?? 0));
  }

  private openFlow() {
    const v = this.state;
    const time = this.cursor.y * Number(v.time);
    void this.page.go('depth', {dynamics: v.dynamics, tokens: v.tokens, dim: Math.min(64, Number(v.dim)), beta: Number(this.beta(this.cursor.x).toPrecision(4)), seed: v.seed, until: time});
  }

  close() {
    ++this.run;
    for (const core of this.cores) core.end();
    this.cores = [];
  }

  recolour() {
    this.paint();
  }

  key(): boolean {
    return false;
  }

  exports(): Exported[] {
    return [
      {name: 'svg', words: 'Diagram (SVG)', run: () => saveSvg(this.picture, 'phase.svg')},
      {name: 'png', words: 'Diagram (PNG)', run: () => svgAsPng(this.picture, 'phase.png')},
    ];
  }

  get busy(): boolean {
    return this.cores.some(core => core.busy);
  }

  snapshot() {
    return {done: this.done, columns: this.columns, cursor: this.cursor};
  }
}
