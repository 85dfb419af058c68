// The training room: keys are points of a plane, training moves p. A drag asks the core for margin and certificate at once, and for the whole training
// as soon as it has time; pictures are SVG.
import {Core, CoreError} from '../core/client';
import type {BasinMap, Input, Margin, Settings, Trained} from '../core/messages';
import {Curve} from '../draw/curve';
import {button, choice, group, Readout, slider} from '../page/controls';
import {h, palette, powerOfTen, replace, rounded, svg, tenTo} from '../page/dom';
import {save, saveSvg, svgAsPng} from '../page/export';
import {usualValues, type Fields, type Values} from '../page/link';
import type {Exported, Page, Room} from './room';

const kHalf = 2.2;  // the plane that is shown: from -2.2 to 2.2
const optimizers = ['flow', 'gd', 'ngd', 'polyak'] as const;
const optimizerWords: Record<string, string> = {flow: 'gradient flow', gd: 'gradient descent', ngd: 'normalised descent', polyak: 'Polyak steps'};

export const trainingFields: Fields = {
  problem: {kind: 'text', pattern: /^(-?1(:-?\d+(\.\d+)?,-?\d+(\.\d+)?,-?\d+(\.\d+)?){2,12}(;|$)){1,8}$/, most: 4000, usual: '1:-0.1,1,1:1,0,0.9:0,0,0'},
  optimizer: {kind: 'word', words: optimizers, usual: 'flow'},
  'log10-time': {kind: 'number', min: 1, max: 1000, usual: 100},
  step: {kind: 'number', min: 0.001, max: 10, usual: 0.1},
  steps: {kind: 'number', min: 10, max: 20000, whole: true, usual: 1000},
  x: {kind: 'number', min: -10, max: 10, usual: 0},
  y: {kind: 'number', min: -10, max: 10, usual: 0},
  basins: {kind: 'word', words: ['no', 'yes'], usual: 'no'},
};

/** label:x,y,score:x,y,score;… */
export const writeProblem = (inputs: Input[]) => inputs.map(i => [String(i.label), ...i.tokens.map(t => [t.x, t.y, t.score].map(v => String(Number(v.toFixed(3)))).join(','))].join(':')).join(';');

export const readProblem = (text: string): Input[] | null => {
  const inputs = text.replace(/;$/, '').split(';').map(part => {
    const [label, ...tokens] = part.split(':');
    return {label: Number(label), tokens: tokens.map(t => t.split(',').map(Number)).map(([x, y, score]) => ({x, y, score}))};
  });
  const fits = inputs.every(i => i.tokens.length === inputs[0].tokens.length && i.tokens.every(t => [t.x, t.y, t.score].every(v => Number.isFinite(v) && Math.abs(v) <= 100)));
  return fits && inputs.length > 0 ? inputs : null;
};

const examples: [string, string, string][] = [
  ['Two limits', 'one input, a second local limit', '1:-0.1,1,1:1,0,0.9:0,0,0'],
  ['One limit', 'equal scores of the others', '1:-0.1,1,1:1,0,0.9:0,0,0.9'],
  ['Three inputs', 'each keeps its best token', '1:1,0.1,1:-0.9,1,0.5:-0.4,-0.6,0.5;1:0.9,0.4,1:-1,0.7,0.5:-0.6,-0.4,0.5;1:1.2,-0.2,1:-0.7,1.2,0.5:-0.5,-0.7,0.5'],
  ['Torn', 'best tokens that no direction separates', '1:1,0,1:0.2,0.8,0.5:-0.4,-0.3,0.2;1:-1,0.1,1:0.3,0.6,0.6:0.2,-0.7,0.1'],
  ['Labels', 'a negative input flips its scores', '1:0.8,0.8,1:-0.6,0.2,0.3;-1:-0.7,-0.9,1:0.5,-0.3,0.4'],
];

export class TrainingRoom implements Room {
  readonly name = 'training';
  readonly title = 'Training';
  readonly fields = trainingFields;
  readonly root: HTMLElement;
  private core = new Core();
  private painter: Core | null = null;
  private state = usualValues(trainingFields);
  private inputs: Input[] = readProblem(String(trainingFields.problem.usual))!;
  private trained: Trained | null = null;
  private margin: {best: Margin; chosen?: Margin} | null = null;
  private map: BasinMap | null = null;
  private selected = {input: 0, token: 0};
  private cursor = Infinity;
  private busyMargins = false;
  private againMargins = false;
  private training = 0;
  private timer = 0;
  lastDrag = {milliseconds: 0, gap: NaN as number | null};

  private plane = svg('svg', {viewBox: '0 0 640 640', class: 'plane', role: 'group', 'aria-label': 'Plane of keys; tokens can be dragged or moved by arrow keys', id: 'plane'}) as SVGSVGElement;
  private layers = {basins: svg('g', {class: 'basins'}), axes: svg('g', {class: 'axes'}), lines: svg('g', {class: 'lines'}), path: svg('g', {class: 'path'}), tokens: svg('g', {class: 'tokens'})};
  private words = h('p', {class: 'headline', 'aria-live': 'polite', id: 'training-words'});
  private readout = new Readout();
  private winners = h('table', {class: 'winners'});
  private curves = {
    norm: new Curve({title: '‖p‖', series: [{label: '‖p‖', colour: 'blue'}], seek: x => this.seek(x)}),
    cosine: new Curve({title: 'Alignment', series: [{label: 'cosine to the max-margin direction', colour: 'green'}, {label: 'least selected weight', colour: 'vermillion'}], y: {max: 1.02}, seek: x => this.seek(x)}),
  };
  private time = slider({id: 'training-time', label: 'training time', min: 0, max: 1, step: 0.001, value: 1, words: () => this.timeWords(), change: v => this.scrub(v)});
  private sliders = {
    log10: slider({id: 'log10-time', label: 'until', min: 1, max: 1000, log: true, whole: true, value: 100, words: v => `t = ${tenTo(v)}`, change: (v, done) => done && this.set({'log10-time': v})}),
    steps: slider({id: 'training-steps', label: 'steps', min: 10, max: 20000, log: true, whole: true, value: 1000, change: (v, done) => done && this.set({steps: v})}),
    step: slider({id: 'training-step', label: 'step', min: 0.001, max: 10, log: true, value: 0.1, change: (v, done) => done && this.set({step: v})}),
    score: slider({id: 'score', label: 'score of the token', min: -1, max: 2, step: 0.01, value: 1, change: v => this.score(v)}),
  };
  private optimizer = choice('optimizer', 'optimiser', optimizers.map(o => [o, optimizerWords[o]]), 'flow', v => this.set({optimizer: v}));
  private label = choice('label', 'label of the input', [['1', '+1'], ['-1', '−1']], '1', v => {
    this.inputs[this.selected.input].label = Number(v);
    this.edited(true);
  });
  private basins = button('Paint basins', () => this.toggleBasins(), {id: 'basins', title: 'B'});

  constructor(private page: Page) {
    this.plane.append(...Object.values(this.layers));
    const example = h('select', {id: 'example', 'aria-label': 'example'}, h('option', {value: ''}, 'Examples …'), ...examples.map(([name, words], k) => h('option', {value: String(k)}, `${name}: ${words}`)));
    example.addEventListener('change', () => {
      if (example.value !== '') void this.open({...usualValues(trainingFields), problem: examples[Number(example.value)][2]});
      example.value = '';
    });
    const s = this.sliders;
    this.root = h('section', {class: 'room training', 'aria-label': 'Training room'},
      h('aside', {class: 'panel controls'},
        example,
        group('Training', this.optimizer.root, s.log10.root, s.step.root, s.steps.root),
        group('Token', s.score.root, this.label.root,
          h('div', {class: 'bar'}, button('Add a token', () => this.addToken(), {id: 'add-token'}), button('Remove', () => this.removeToken(), {id: 'remove-token'})),
          h('div', {class: 'bar'}, button('Add an input', () => this.addInput(), {id: 'add-input'}), button('Remove input', () => this.removeInput(), {id: 'remove-input'})))),
      h('div', {class: 'middle'}, this.words, h('div', {class: 'stage-box plane-box'}, this.plane), h('div', {class: 'timeline'}, this.time.root), h('div', {class: 'bar'}, this.basins, button('p from 0', () => this.set({x: 0, y: 0}), {id: 'p-zero'}))),
      h('aside', {class: 'panel facts'}, h('h3', {}, 'Certificate'), this.readout.root, h('h3', {}, 'Who wins, and since when'), this.winners, this.curves.norm.root, this.curves.cosine.root));
    this.fit();
  }

  // ---- State.

  values(): Values {
    return {...this.state, problem: writeProblem(this.inputs)};
  }

  async open(values: Values): Promise<void> {
    const inputs = readProblem(String(values.problem));
    if (!inputs) return this.page.say('The problem in this link is not what the lab writes there; it is left out.', 'error');
    this.inputs = inputs;
    this.state = {...values};
    this.selected = {input: 0, token: 0};
    this.map = null;
    this.cursor = Infinity;
    this.fit();
    this.draw();
    await this.measure();
    await this.train();
    if (values.basins === 'yes') void this.paint();
    this.page.changed();
  }

  private set(some: Values) {
    Object.assign(this.state, some);
    this.fit();
    this.edited(true);
  }

  private fit() {
    const v = this.state, s = this.sliders, flow = v.optimizer === 'flow';
    this.optimizer.set(String(v.optimizer));
    s.log10.set(Number(v['log10-time'])), s.step.set(Number(v.step)), s.steps.set(Number(v.steps));
    s.log10.root.hidden = !flow;
    s.step.root.hidden = s.steps.root.hidden = flow;
    const input = this.inputs[this.selected.input];
    s.score.set(input.tokens[this.selected.token].score);
    this.label.set(String(input.label));
  }

  private settings(): Settings {
    const v = this.state, s: Settings = {optimizer: v.optimizer, outputs: 160};
    if (v.optimizer === 'flow') s['log10-time'] = v['log10-time'];
    else s.step = v.step, s.steps = v.steps;
    return s;
  }

  private request(): Record<string, unknown> {
    return {inputs: this.inputs, start: [this.state.x, this.state.y]};
  }

  command(): string {
    return this.trained?.command ?? '';
  }

  // ---- Changes.

  /** done: the drag is over, and the whole training is worth its time. */
  private edited(done: boolean) {
    this.map = null;
    this.draw();
    void this.measure();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.train().then(() => {
      if (this.state.basins === 'yes') void this.paint();
      this.page.changed();
    }), done ? 0 : 60);
  }

  private score(value: number) {
    this.inputs[this.selected.input].tokens[this.selected.token].score = Number(value.toFixed(3));
    this.edited(false);
  }

  private addToken() {
    if (this.inputs[0].tokens.length >= 12) return this.page.say('Twelve tokens are as many as fit into the picture.');
    for (const input of this.inputs) {
      const angle = 2.4 * input.tokens.length;
      input.tokens.push({x: Number((1.3 * Math.cos(angle)).toFixed(3)), y: Number((1.3 * Math.sin(angle)).toFixed(3)), score: 0.2});
    }
    this.edited(true);
  }

  private removeToken() {
    if (this.inputs[0].tokens.length <= 2) return this.page.say('Attention needs two tokens to choose between.');
    for (const input of this.inputs) input.tokens.splice(this.selected.token, 1);
    this.selected.token = 0;
    this.fit();
    this.edited(true);
  }

  private addInput() {
    if (this.inputs.length >= 8) return this.page.say('Eight inputs are as many as can be told apart.');
    const turn = 0.3 * this.inputs.length, c = Math.cos(turn), s = Math.sin(turn);
    this.inputs.push({label: 1, tokens: this.inputs[0].tokens.map(t => ({x: Number((c * t.x - s * t.y + 0.05).toFixed(3)), y: Number((s * t.x + c * t.y - 0.05).toFixed(3)), score: t.score}))});
    this.selected = {input: this.inputs.length - 1, token: 0};
    this.fit();
    this.edited(true);
  }

  private removeInput() {
    if (this.inputs.length <= 1) return this.page.say('One input is the least that can be trained on.');
    this.inputs.splice(this.selected.input, 1);
    this.selected = {input: 0, token: 0};
    this.fit();
    this.edited(true);
  }

  // ---- What the core says.

  /** The margin and its certificate: one question at a time, the newest state last. */
  private async measure(): Promise<void> {
    if (this.busyMargins) {
      this.againMargins = true;
      return;
    }
    this.busyMargins = true;
    const begun = performance.now();
    try {
      const request = this.request();
      if (this.trained && this.trained.selected.length === this.inputs.length && this.trained.selected.every(t => t < this.inputs[0].tokens.length)) request.chosen = this.trained.selected;
      this.margin = await this.core.value<{best: Margin; chosen?: Margin}>('margins', request);
      this.lastDrag = {milliseconds: performance.now() - begun, gap: (this.margin.chosen ?? this.margin.best).gap};
      this.tellMargin();
      this.draw();
    } catch (error) {
      this.refuse(error);
    } finally {
      this.busyMargins = false;
    }
    if (this.againMargins) {
      this.againMargins = false;
      await this.measure();
    }
  }

  private async train(): Promise<void> {
    const mine = ++this.training;
    try {
      const trained = await this.core.value<Trained>('train', {...this.request(), settings: this.settings()});
      if (mine !== this.training) return;
      this.trained = trained;
      this.cursor = Infinity;
      this.time.set(1);
      if (trained.svm) this.margin = {best: this.margin?.best ?? trained.svm, chosen: trained.svm};
      this.tell();
      this.draw();
    } catch (error) {
      if (mine === this.training) this.refuse(error);
    }
  }

  private refuse(error: unknown) {
    if (!(error instanceof CoreError)) throw error;
    replace(this.words, `${error.message}.`.replace(/\.\.$/, '.'));
  }

  private tellMargin() {
    const m = this.margin?.chosen ?? this.margin?.best, r = this.readout;
    if (!m) return;
    r.set('Att-SVM margin', m.feasible ? rounded(m.margin, 8) : 'no direction makes this choice');
    r.set('relative duality gap', m.feasible ? rounded(m.gap, 2) : '–', 'the least norm lies between two proved bounds that differ by no more');
    r.set('least norm', m.feasible ? `${m.lower === null ? '–' : m.lower.toPrecision(10)} to ${m.upper === null ? '–' : m.upper.toPrecision(10)}` : m.lower === null ? '–' : `above ${rounded(m.lower)}`);
    r.set('support tokens', m.support.map(([i, t]) => this.tokenName(i, t)).join(', ') || '–');
    r.set('this choice', !m.feasible ? 'infeasible' : m.globally_optimal ? 'globally optimal' : m.locally_optimal ? 'locally optimal' : 'not stable');
  }

  private tokenName(input: number, token: number): string {
    const name = String.fromCharCode(97 + token);
    return this.inputs.length > 1 ? `${name}${'₁₂₃₄₅₆₇₈₉'[input]}` : name;
  }

  private tell() {
    const t = this.trained!;
    this.tellMargin();
    const flow = this.state.optimizer === 'flow';
    const words = t.at_minimum
      ? 'Training rests at a finite minimum: attention mixes tokens.'
      : `${t.selected.map((k, i) => this.tokenName(i, k)).join(', ')} ${t.selected.length > 1 ? 'win' : 'wins'}: weight ${rounded(t.softmax_min, 4)}, direction within ${rounded((Math.acos(Math.min(1, t.cosine ?? NaN)) * 180) / Math.PI, 3)}° of the margin's.`;
    replace(this.words, words);
    const rows = t.selected.map((token, i) => {
      const since = t.since[i];
      return h('tr', {'data-input': i, 'data-winner': token}, h('td', {}, this.inputs.length > 1 ? `input ${i + 1}` : 'input'), h('td', {}, h('b', {}, this.tokenName(i, token))), h('td', {}, since === null || since < -300 ? 'from the start' : flow ? `since t = ${powerOfTen(since)}` : `since step ${Math.round(10 ** since / Number(this.state.step))}`));
    });
    replace(this.winners, ...rows);
    const series = t.series.filter(m => m.log10_time !== null || m.steps !== null);
    const xs = series.map((m, k) => (flow ? m.log10_time ?? series[k + 1]?.log10_time ?? 0 : m.steps ?? 0));
    this.curves.norm.set([xs, series.map(m => m.norm)]);
    this.curves.cosine.set([xs, series.map(m => m.cosine), series.map(m => m.softmax_min)]);
  }

  // ---- Basins, coarse first.

  private toggleBasins() {
    this.state.basins = this.state.basins === 'yes' ? 'no' : 'yes';
    this.basins.setAttribute('aria-pressed', String(this.state.basins === 'yes'));
    if (this.state.basins === 'yes') void this.paint();
    else {
      this.map = null;
      this.draw();
    }
    this.page.changed();
  }

  private async paint(): Promise<void> {
    this.basins.setAttribute('aria-pressed', 'true');
    this.painter?.end();
    const painter = (this.painter = new Core()), request = this.request();
    try {
      for (const side of [7, 15, 31, 61]) {
        const map = await painter.value<BasinMap>('basins', {...request, side, radius: kHalf});
        if (painter !== this.painter || this.state.basins !== 'yes') return;
        this.map = map;
        this.draw();
      }
    } catch (error) {
      if (painter === this.painter) this.refuse(error);
    } finally {
      if (painter === this.painter) painter.end(), (this.painter = null);
    }
  }

  // ---- The picture. 640 units are 2 kHalf.

  private px(x: number) {
    return 320 + (x / kHalf) * 300;
  }
  private py(y: number) {
    return 320 - (y / kHalf) * 300;
  }

  private draw() {
    this.drawBasins();
    this.drawAxes();
    this.drawLines();
    this.drawPath();
    this.drawTokens();
  }

  private choiceColour(chosen: number[]): string {
    let code = 0;
    for (const t of chosen) code = code * 5 + t;
    return palette[code % palette.length];
  }

  private drawBasins() {
    const map = this.map, cells: SVGElement[] = [];
    if (map) {
      const size = (600 / (map.side - 1)) * 1.02, seen = new Map<string, string>();
      for (const [x, y, limit] of map.cells) {
        if (limit < 0) continue;
        const colour = this.choiceColour(map.limits[limit].chosen);
        seen.set(colour, (seen.get(colour) ?? '') + `M${(this.px(x - Number(this.state.x)) - size / 2).toFixed(1)} ${(this.py(y - Number(this.state.y)) - size / 2).toFixed(1)}h${size.toFixed(1)}v${size.toFixed(1)}h${(-size).toFixed(1)}z`);
      }
      for (const [colour, d] of seen) cells.push(svg('path', {d, fill: colour, 'fill-opacity': 0.22}));
    }
    replace(this.layers.basins, ...cells);
  }

  private drawAxes() {
    if (this.layers.axes.childNodes.length > 0) return;
    const lines = [];
    for (let k = -2; k <= 2; ++k) lines.push(svg('line', {x1: this.px(k), x2: this.px(k), y1: 14, y2: 626, class: k === 0 ? 'axis' : 'tick'}), svg('line', {y1: this.py(k), y2: this.py(k), x1: 14, x2: 626, class: k === 0 ? 'axis' : 'tick'}));
    replace(this.layers.axes, ...lines);
  }

  /** The max-margin direction from the origin, and the line on which the chosen key and its neighbours stand: one margin apart. */
  private drawLines() {
    const m = this.margin?.chosen ?? this.margin?.best, lines: SVGElement[] = [];
    if (m?.feasible && m.solution.length >= 2) {
      const [px, py] = [m.solution[0] ?? 0, m.solution[1] ?? 0], length = Math.hypot(px, py) || 1, u = [px / length, py / length];
      lines.push(svg('line', {x1: this.px(0), y1: this.py(0), x2: this.px(9 * u[0]), y2: this.py(9 * u[1]), class: 'ray'}));
      m.chosen.forEach((t, i) => {
        const key = this.inputs[i]?.tokens[t];
        if (!key) return;
        for (const [k, name] of [[0, 'margin front'], [(m.margin ?? 0), 'margin back']] as const) {
          const cx = key.x - k * u[0], cy = key.y - k * u[1];
          lines.push(svg('line', {x1: this.px(cx - 9 * u[1]), y1: this.py(cy + 9 * u[0]), x2: this.px(cx + 9 * u[1]), y2: this.py(cy - 9 * u[0]), class: name, stroke: palette[i % palette.length]}));
        }
      });
    }
    replace(this.layers.lines, ...lines);
  }

  /** p grows for ever; it is drawn at length |p| / (1 + |p|). */
  private place(x: number, y: number): [number, number] {
    const r = Math.hypot(x, y), s = (kHalf * 0.92) / (1 + r);
    return [this.px(x * s), this.py(y * s)];
  }

  private drawPath() {
    const all = this.trained?.series.filter(m => m.x !== null && m.y !== null) ?? [];
    const shown = this.cursor === Infinity ? all : all.slice(0, this.cursor + 1), parts: SVGElement[] = [];
    if (all.length > 1) {
      const d = (list: typeof all) => 'M' + list.map(m => this.place(m.x!, m.y!).map(c => c.toFixed(1)).join(' ')).join('L');
      parts.push(svg('path', {d: d(all), class: 'way whole'}));
      if (shown.length > 1) parts.push(svg('path', {d: d(shown), class: 'way'}));
      const last = shown[shown.length - 1], [x, y] = this.place(last.x!, last.y!);
      parts.push(svg('line', {x1: 320, y1: 320, x2: x, y2: y, class: 'prompt'}), svg('circle', {cx: x, cy: y, r: 6, class: 'prompt-end'}), svg('text', {x: x + 10, y: y - 8, class: 'prompt-name'}, 'p'));
    }
    replace(this.layers.path, ...parts);
  }

  private drawTokens() {
    const m = this.margin?.chosen ?? this.margin?.best, chosen = this.trained?.selected ?? m?.chosen ?? [];
    const support = new Set((m?.support ?? []).map(([i, t]) => `${i} ${t}`)), nodes: SVGElement[] = [];
    const focused = document.activeElement?.getAttribute('data-key');
    this.inputs.forEach((input, i) => input.tokens.forEach((token, t) => {
      const wins = chosen[i] === t, marked = this.selected.input === i && this.selected.token === t, key = `${i} ${t}`;
      const node = svg('g', {transform: `translate(${this.px(token.x).toFixed(1)} ${this.py(token.y).toFixed(1)})`, class: `token${wins ? ' wins' : ''}${marked ? ' marked' : ''}`, tabindex: 0, role: 'button', 'data-key': key, 'aria-label': `token ${this.tokenName(i, t)} at ${token.x}, ${token.y}, score ${token.score}${wins ? ', wins' : ''}`},
        support.has(key) ? svg('circle', {r: 17, class: 'support'}) : null,
        marked ? svg('circle', {r: 21, class: 'mark'}) : null,
        svg('circle', {r: wins ? 12 : 9, fill: palette[i % palette.length], 'fill-opacity': wins ? 1 : 0.55, class: 'dot'}),
        svg('text', {y: 4, class: 'name'}, this.tokenName(i, t)),
        svg('text', {y: -20, class: 'score'}, rounded(token.score, 3)));
      node.addEventListener('pointerdown', event => this.grab(event as PointerEvent, i, t));
      node.addEventListener('focus', () => this.select(i, t));
      node.addEventListener('keydown', event => this.nudge(event as KeyboardEvent, i, t));
      nodes.push(node);
    }));
    replace(this.layers.tokens, ...nodes);
    if (focused) (this.layers.tokens.querySelector(`[data-key="${focused}"]`) as SVGElement | null)?.focus();
  }

  private select(input: number, token: number) {
    if (this.selected.input === input && this.selected.token === token) return;
    this.selected = {input, token};
    this.fit();
    this.drawTokens();
  }

  private grab(event: PointerEvent, input: number, token: number) {
    event.preventDefault();
    this.select(input, token);
    const inverse = this.plane.getScreenCTM()!.inverse();
    const move = (e: PointerEvent, done: boolean) => {
      const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(inverse);
      const clamp = (x: number) => Number(Math.max(-kHalf, Math.min(kHalf, x)).toFixed(3));
      Object.assign(this.inputs[input].tokens[token], {x: clamp(((at.x - 320) / 300) * kHalf), y: clamp(((320 - at.y) / 300) * kHalf)});
      this.edited(done);
    };
    const moved = (e: PointerEvent) => move(e, false);
    const up = (e: PointerEvent) => {
      window.removeEventListener('pointermove', moved);
      window.removeEventListener('pointerup', up);
      move(e, true);
    };
    window.addEventListener('pointermove', moved);
    window.addEventListener('pointerup', up);
  }

  private nudge(event: KeyboardEvent, input: number, token: number) {
    const by: Record<string, [number, number]> = {ArrowLeft: [-0.05, 0], ArrowRight: [0.05, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05]};
    if (!by[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    const at = this.inputs[input].tokens[token];
    at.x = Number(Math.max(-kHalf, Math.min(kHalf, at.x + by[event.key][0])).toFixed(3));
    at.y = Number(Math.max(-kHalf, Math.min(kHalf, at.y + by[event.key][1])).toFixed(3));
    this.edited(false);
  }

  // ---- Time of training.

  private scrub(share: number) {
    const count = this.trained?.series.length ?? 0;
    this.cursor = share >= 1 ? Infinity : Math.round(share * (count - 1));
    this.time.set(share);
    const m = this.trained?.series[Math.min(count - 1, this.cursor)];
    if (m) {
      const x = this.state.optimizer === 'flow' ? m.log10_time ?? 0 : m.steps ?? 0;
      for (const curve of Object.values(this.curves)) curve.at(x);
    }
    this.drawPath();
  }

  private seek(x: number) {
    const flow = this.state.optimizer === 'flow', series = this.trained?.series ?? [];
    const at = series.findIndex(m => ((flow ? m.log10_time : m.steps) ?? -Infinity) >= x);
    if (at >= 0) this.scrub(at / Math.max(1, series.length - 1));
  }

  private timeWords(): string {
    const series = this.trained?.series;
    if (!series || series.length === 0) return '';
    const m = series[Math.min(series.length - 1, this.cursor === Infinity ? series.length - 1 : this.cursor)];
    return this.state.optimizer === 'flow' ? `t = ${powerOfTen(m.log10_time)}` : `step ${m.steps ?? 0}`;
  }

  // ---- Around it.

  close() {
    this.painter?.end();
    this.painter = null;
    clearTimeout(this.timer);
  }

  recolour() {
    for (const curve of Object.values(this.curves)) curve.recolour();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === 'b') this.toggleBasins();
    else return false;
    return true;
  }

  /** What `attractor select` reads: the problem of the command. */
  private problemFile(): string {
    const x = this.inputs.map(i => i.tokens.map(t => [t.x, t.y, i.label * t.score]));
    return JSON.stringify({X: x, Y: this.inputs.map(i => i.label), v: [0, 0, 1], W: [[1, 0, 0], [0, 1, 0], [0, 0, 0]], p0: [this.state.x, this.state.y, 0]});
  }

  exports(): Exported[] {
    return [
      {name: 'svg', words: 'Picture (SVG)', run: () => saveSvg(this.plane, 'training.svg')},
      {name: 'png', words: 'Picture (PNG)', run: () => svgAsPng(this.plane, 'training.png')},
      {name: 'problem', words: 'problem.json of the command', run: () => save(new Blob([this.problemFile()], {type: 'application/json'}), 'problem.json')},
    ];
  }

  get busy(): boolean {
    return this.core.busy || this.painter !== null;
  }

  snapshot() {
    return {inputs: this.inputs, trained: this.trained, margin: this.margin, lastDrag: this.lastDrag, map: this.map && {side: this.map.side, limits: this.map.limits.length}};
  }
}
