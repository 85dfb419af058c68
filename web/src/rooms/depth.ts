// The depth room: tokens flow through layers. Everything shown comes from the core; the room asks for the next stretch of time, draws, and asks again.
import {Core, CoreError} from '../core/client';
import type {Facts, Look, Moment, Observation, Theory} from '../core/messages';
import {Curve} from '../draw/curve';
import {Sphere, type Frame} from '../draw/sphere';
import {MergeTree, type Merge} from '../draw/tree';
import {button, choice, group, Readout, slider} from '../page/controls';
import {coloursOf, h, palette, powerOfTen, reducedMotion, replace, rounded, svg} from '../page/dom';
import {npy, record, save, savePng, saveSvg} from '../page/export';
import {usualValues, type Values} from '../page/link';
import {depthFields, inits, norms, readChanges, settingsOf, steppers, writeChanges, type Change} from './depth_fields';
import type {Exported, Page, Room} from './room';

interface Kept extends Frame {
  log10: number;
  steps: number;
}

const kEarliest = -2, kLatest = 31;      // log10 of time
const kBudget = 24, kAheadBudget = 100;  // milliseconds of a stretch: of one that is watched, and of one on the way to a time
const kAhead = 0.4;                      // decades after which the way to a time is looked at, for the curves
const kAheadFrame = 300;                 // milliseconds between two pictures of it
const kKeptNumbers = 3_000_000;                    // of positions, for going back

const initWords: Record<string, string> = {uniform: 'uniform', equiangular: 'equiangular', cap: 'in a cap', clusters: 'clusters', circle: 'mode on the circle'};
const presets: [string, string, Values][] = [
  ['Metastable clusters', 'eight or so, then one at t ≈ 10³⁰', {beta: 40, tokens: 64, dim: 3, seed: 7}],
  ['Gentle collapse', 'β = 4: one cluster in a hundred time units', {beta: 4, tokens: 200, dim: 3, seed: 7}],
  ['On the circle', 'β = 60: arcs form, neighbours merge', {beta: 60, tokens: 120, dim: 2, seed: 1}],
  ['A mode grows', 'six bumps planted on the circle', {beta: 30, tokens: 160, dim: 2, init: 'circle', mode: 6, amplitude: 0.05}],
  ['High dimension', 'd = 32: nearly equiangular', {beta: 4, tokens: 128, dim: 32, seed: 3}],
  ['Causal mask', 'the first token leads', {beta: 9, tokens: 64, dim: 3, mask: 'causal'}],
  ['Pre-norm', 'collapse slows to a power law', {beta: 4, tokens: 64, dim: 3, norm: 'pre'}],
  ['Noise', 'κ = 0.02: clusters that breathe', {beta: 20, tokens: 300, dim: 3, noise: 0.02}],
  ['Ten thousand', 'the O(n) engine', {beta: 30, tokens: 10000, dim: 3, seed: 1}],
];

export class DepthRoom implements Room {
  readonly name = 'depth';
  readonly title = 'Depth';
  readonly fields = depthFields;
  readonly root: HTMLElement;
  readonly sphere: Sphere;
  private core = new Core();
  private state: Values = usualValues(depthFields);
  private changes: Change[] = [];
  private facts: Facts | null = null;
  private moment: Moment | null = null;
  private theory: Theory = {};
  private kept: Kept[] = [];
  private series: {x: number; o: Observation}[] = [];
  private playing = false;
  private ahead: number | null = null;  // log10 of a time to run to
  private looping = false;
  private making = 0;                    // number of the latest flow that was asked for
  private queue: Change[] = [];
  private lastLook = 0;
  private recording: {stop: () => Promise<Blob>} | null = null;

  private stage = h('div', {class: 'stage', id: 'depth-stage'});
  private clock = h('div', {class: 'clock', 'aria-live': 'off', id: 'depth-clock'});
  private playButton = button('Play', () => this.toggle(), {id: 'depth-play', class: 'primary', title: 'Space'});
  private readout = new Readout();
  private theoryOut = new Readout();
  private tree = new MergeTree();
  private curves = {
    energy: new Curve({title: 'Energy ratio', series: [{label: 'E / E max', colour: 'blue', stepped: false}], y: {max: 1.02}, seek: x => this.seek(x)}),
    clusters: new Curve({title: 'Clusters', series: [{label: 'clusters', colour: 'vermillion', stepped: true}, {label: 'predicted', colour: 'ink-soft', dashed: true, width: 1.2}], y: {log: true}, seek: x => this.seek(x)}),
    cosine: new Curve({title: 'Mean cosine', series: [{label: 'tokens', colour: 'green'}, {label: 'equiangular', colour: 'ink-soft', dashed: true, width: 1.2}], y: {max: 1.02}, seek: x => this.seek(x)}),
  };

  private sliders = {
    beta: slider({id: 'beta', label: 'β  inverse temperature', min: 0.1, max: 1000, log: true, value: 9, change: (v, done) => this.turnBeta(v, done)}),
    tokens: slider({id: 'tokens', label: 'n  tokens', min: 2, max: 20000, log: true, whole: true, value: 64, change: (v, done) => done && this.begin({tokens: v})}),
    dim: slider({id: 'dim', label: 'd  dimension', min: 2, max: 64, log: true, whole: true, value: 3, change: (v, done) => done && this.begin({dim: v})}),
    noise: slider({id: 'noise', label: 'κ  noise', min: 0, max: 0.2, step: 0.001, value: 0, change: (v, done) => done && this.begin({noise: v})}),
    step: slider({id: 'step', label: 'step of a layer', min: 0.01, max: 1, log: true, value: 0.1, change: (v, done) => done && this.begin({step: v})}),
    speed: slider({id: 'speed', label: 'speed', min: 0.05, max: 6, log: true, value: 1, words: v => `${rounded(v, 2)} decades / s`}),
    rho: slider({id: 'rho', label: 'ρ  common cosine', min: -0.2, max: 0.99, step: 0.01, value: 0.1, change: (v, done) => done && this.begin({rho: v})}),
    cap: slider({id: 'cap-angle', label: 'cap angle', min: 0.01, max: 3.1, step: 0.01, value: 0.8, change: (v, done) => done && this.begin({'cap-angle': v})}),
    centres: slider({id: 'centres', label: 'centres', min: 1, max: 50, whole: true, value: 6, change: (v, done) => done && this.begin({centres: v})}),
    mode: slider({id: 'mode', label: 'wave number', min: 0, max: 64, whole: true, value: 4, change: (v, done) => done && this.begin({mode: v})}),
  };
  private time = slider({id: 'time', label: 'time', min: kEarliest, max: kLatest, step: 0.05, value: kEarliest, words: v => `t = ${powerOfTen(v)}`, change: (v, done) => this.slide(v, done)});
  private choices = {
    dynamics: choice('dynamics', 'attention', [['sa', 'softmax'], ['usa', 'unnormalised']], 'sa', v => this.begin({dynamics: v})),
    init: choice('init', 'start', inits.map(i => [i, initWords[i]]), 'uniform', v => this.begin(v === 'circle' ? {init: v, dim: 2} : v === 'equiangular' && Number(this.state.dim) < Number(this.state.tokens) ? {init: v, tokens: Math.min(32, Number(this.state.tokens)), dim: 32} : {init: v})),
    norm: choice('norm', 'normalisation', norms.map(n => [n, n]), 'post', v => this.begin({norm: v})),
    mask: choice('mask', 'mask', [['full', 'full'], ['causal', 'causal']], 'full', v => this.begin({mask: v})),
    stepper: choice('stepper', 'stepper', steppers.map(s => [s, s]), 'adaptive', v => this.begin({stepper: v})),
  };

  constructor(private page: Page) {
    this.sphere = new Sphere(this.stage);
    this.sphere.onMove = (token, position) => this.change({steps: 0, kind: 'm', numbers: [token, ...position.map(x => Number(x.toPrecision(9)))]});
    const s = this.sliders, c = this.choices;
    const preset = h('select', {id: 'preset', 'aria-label': 'preset'}, h('option', {value: ''}, 'Presets …'), ...presets.map(([name, words], k) => h('option', {value: String(k)}, `${name}: ${words}`)));
    preset.addEventListener('change', () => {
      if (preset.value === '') return;
      const values = {...usualValues(depthFields), ...presets[Number(preset.value)][2]};
      preset.value = '';
      void this.open(values).then(() => this.play());
    });
    const bar = h('div', {class: 'bar'},
      this.playButton,
      button('Step', () => void this.stepOnce(), {id: 'depth-step', title: 'S'}),
      button('Restart', () => void this.begin({}), {id: 'depth-restart', title: 'R'}),
      button('To the end', () => this.runTo(kLatest), {id: 'depth-end', title: 'E'}),
      button('Add a cluster', () => this.addCluster(), {id: 'depth-add', title: 'A'}),
      button('New seed', () => void this.begin({seed: (Number(this.state.seed) + 1) % 1e9}), {id: 'depth-seed', title: 'N'}));
    this.root = h('section', {class: 'room depth', 'aria-label': 'Depth room'},
      h('aside', {class: 'panel controls'},
        preset,
        group('Attention', s.beta.root, c.dynamics.root, c.mask.root, c.norm.root, s.noise.root),
        group('Tokens', s.tokens.root, s.dim.root, c.init.root, s.rho.root, s.cap.root, s.centres.root, s.mode.root),
        group('Solver', c.stepper.root, s.step.root)),
      h('div', {class: 'middle'}, h('div', {class: 'stage-box'}, this.stage, this.clock), h('div', {class: 'timeline'}, this.time.root, s.speed.root), bar),
      h('aside', {class: 'panel facts'}, this.readout.root, this.curves.energy.root, this.curves.clusters.root, this.curves.cosine.root, this.tree.root, h('h3', {}, 'Theory says'), this.theoryOut.root));
    this.fit();
  }

  // ---- State.

  values(): Values {
    return {...this.state, beta: this.firstBeta, steps: this.moment?.steps ?? 0, events: writeChanges(this.changes)};
  }

  command(): string {
    return this.facts?.command ?? '';
  }

  private fit() {
    const v = this.state, s = this.sliders, c = this.choices;
    s.beta.set(Math.max(0.1, Math.min(1000, Number(v.beta))));
    s.tokens.set(Number(v.tokens)), s.dim.set(Number(v.dim)), s.noise.set(Math.min(0.2, Number(v.noise))), s.step.set(Number(v.step));
    s.rho.set(Number(v.rho)), s.cap.set(Number(v['cap-angle'])), s.centres.set(Number(v.centres)), s.mode.set(Number(v.mode));
    c.dynamics.set(String(v.dynamics)), c.init.set(String(v.init)), c.norm.set(String(v.norm)), c.mask.set(String(v.mask)), c.stepper.set(String(v.stepper));
    s.rho.root.hidden = v.init !== 'equiangular';
    s.cap.root.hidden = v.init !== 'cap';
    s.centres.root.hidden = v.init !== 'clusters';
    s.mode.root.hidden = v.init !== 'circle';
    s.step.root.hidden = v.stepper === 'adaptive' && Number(v.noise) === 0;
  }

  async open(values: Values): Promise<void> {
    const changes = readChanges(String(values.events ?? ''), values.init === 'circle' ? 2 : Number(values.dim));
    if (!changes) this.page.say('The changes in this link are not what the lab writes there; they are left out.', 'error');
    await this.make(values, changes ?? [], Number(values.steps ?? 0));
  }

  /** A new flow from its start, with some settings changed. */
  private async begin(some: Values): Promise<void> {
    const running = this.playing;
    await this.make({...this.state, ...some}, [], 0);
    if (running && this.facts) this.play();
  }

  private async make(values: Values, changes: Change[], steps: number): Promise<void> {
    const mine = ++this.making;
    this.stop();
    this.queue = [];
    const before = this.state;
    try {
      const answer = await this.core.ask('flow.make', {settings: settingsOf(values)}, true);
      if (mine !== this.making) return;
      this.state = {...values, steps: 0, events: ''};
      this.firstBeta = Number(values.beta);
      if (values.init === 'circle') this.state.dim = 2;
      this.changes = [];
      this.kept = [], this.series = [];
      await this.took(answer.value as Facts, answer.positions!, answer.clusters!);
      for (const change of changes) await this.replay(change, mine);
      if (steps > (this.moment?.steps ?? 0)) await this.walk(steps, mine);
      if (mine !== this.making) return;
      await this.look(true);
    } catch (error) {
      if (mine !== this.making) return;
      this.state = before;
      this.refuse(error);
    }
    this.fit();
    this.page.changed();
  }

  private refuse(error: unknown) {
    if (error instanceof CoreError) this.page.say(`${error.message}.`.replace(/\.\.$/, '.'), 'error');
    else throw error;
  }

  private async walk(steps: number, mine: number): Promise<void> {
    while (mine === this.making && this.moment && this.moment.steps < steps) {
      const before = this.moment.steps;
      const answer = await this.core.ask('flow.advance', {steps: steps - before, milliseconds: 100}, true);
      this.moved(answer.value as Moment, answer.positions!, answer.clusters!);
      await this.look(false);
      if (this.moment.steps === before && this.moment.status !== 'complete') return;
    }
  }

  private async replay(change: Change, mine: number): Promise<void> {
    await this.walk(change.steps, mine);
    if (mine === this.making) await this.apply(change);
  }

  private async took(facts: Facts, positions: Float64Array, clusters: Uint32Array) {
    if ((facts.moment.log10_time ?? -Infinity) < this.now() - 0.01) this.kept = [], this.series = [];  // the clock has started again
    this.facts = facts;
    this.theory = await this.core.value<Theory>('flow.theory');
    if (facts.dim > 3) this.sphere.look(await this.core.value<number[]>('flow.axes'));
    else this.sphere.look(null);
    this.moved(facts.moment, positions, clusters);
    this.tellTheory();
  }

  // ---- Changes while it runs.

  private turnBeta(beta: number, done: boolean) {
    this.state.beta = beta;
    if (!done && performance.now() - this.lastBeta < 120) return;
    this.lastBeta = performance.now();
    this.change({steps: 0, kind: 'b', numbers: [beta]});
  }
  private lastBeta = 0;
  private firstBeta = 9;  // with which it began; changes are in the events of a link

  /** Waits for its turn: the core does one thing at a time. */
  private change(change: Change) {
    if (change.kind === 'b' && this.queue.at(-1)?.kind === 'b') this.queue.pop();
    this.queue.push(change);
    void this.loop();
  }

  private async apply(change: Change): Promise<void> {
    const [call, request] =
      change.kind === 'b' ? ['flow.change', {settings: {beta: change.numbers[0]}}]
      : change.kind === 'n' ? ['flow.change', {settings: {noise: change.numbers[0]}}]
      : change.kind === 'm' ? ['flow.move', {token: change.numbers[0], position: change.numbers.slice(1)}]
      : ['flow.add', {rows: change.numbers}];
    const answer = await this.core.ask(call as string, request as Record<string, unknown>, true);
    const made = {...change, steps: this.moment?.steps ?? 0};
    const last = this.changes.at(-1);
    if (made.kind === 'b' && last?.kind === 'b' && last.steps === made.steps) this.changes.pop();
    this.changes.push(made);
    if (made.kind === 'b') this.state.beta = made.numbers[0];
    await this.took(answer.value as Facts, answer.positions!, answer.clusters!);
    await this.look(false);
  }

  private addCluster() {
    const dim = this.facts?.dim ?? 3, count = 12, spread = 0.15;
    const direction = () => Array.from({length: dim}, () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random()));
    const centre = direction(), length = Math.hypot(...centre);
    const rows = Array.from({length: count}, () => {
      const d = direction().map((x, k) => centre[k] / length + (spread / Math.sqrt(dim)) * x), l = Math.hypot(...d);
      return d.map(x => Number((x / l).toPrecision(6)));
    }).flat();
    if (rows.length > 1500) return this.page.say('A cluster of so many dimensions does not fit into a link; choose fewer.', 'error');
    this.change({steps: 0, kind: 'a', numbers: rows});
  }

  // ---- Time.

  toggle() {
    if (this.playing) this.stop();
    else this.play();
  }

  play() {
    this.playing = true;
    this.ahead = null;
    this.playButton.lastChild!.textContent = 'Pause';
    this.playButton.setAttribute('aria-pressed', 'true');
    void this.loop();
  }

  stop() {
    const was = this.playing;
    this.playing = false;
    this.ahead = null;
    this.playButton.lastChild!.textContent = 'Play';
    this.playButton.setAttribute('aria-pressed', 'false');
    if (was) void this.look(true).then(() => this.page.changed(), () => undefined);
  }

  async settle(): Promise<void> {
    if (!this.playing && this.ahead === null) return;
    this.stop();
    while (this.looping) await new Promise(requestAnimationFrame);
    await this.look(true);
  }

  private runTo(log10: number) {
    this.playing = false;
    this.stop();
    this.ahead = log10;
    void this.loop();
  }

  /** To a plain time, and stops there. */
  runUntil(time: number) {
    if (time > 0) this.runTo(Math.log10(time));
  }

  private slide(log10: number, done: boolean) {
    if (log10 <= this.now()) this.showKept(log10);
    else if (done) this.runTo(log10);
  }

  private seek(log10: number) {
    if (log10 <= this.now()) this.showKept(log10);
    else this.runTo(Math.min(kLatest, log10));
  }

  private now(): number {
    return this.moment?.log10_time ?? -Infinity;
  }

  private showKept(log10: number) {
    if (this.kept.length === 0) return;
    this.playing = false;
    this.stop();
    let best = this.kept[0];
    for (const k of this.kept) if (Math.abs(Math.max(kEarliest, k.log10) - log10) < Math.abs(Math.max(kEarliest, best.log10) - log10)) best = k;
    this.sphere.show(best);
    this.mark(best.log10);
    replace(this.clock, `t = ${powerOfTen(best.log10)}`, h('small', {}, 'looking back; play goes on from the end'));
  }

  async stepOnce(): Promise<void> {
    this.stop();
    try {
      const answer = await this.core.ask('flow.advance', {steps: 1, milliseconds: 2000}, true);
      this.moved(answer.value as Moment, answer.positions!, answer.clusters!);
      await this.look(true);
    } catch (error) {
      this.refuse(error);
    }
    this.page.changed();
  }

  /** One loop at a time, for play, running ahead and changes. */
  private async loop(): Promise<void> {
    if (this.looping) return;
    this.looping = true;
    let target = Math.max(kEarliest, this.now()), last = performance.now(), shown = 0;
    const mine = this.making;
    try {
      while (mine === this.making) {
        const change = this.queue.shift();
        if (change) {
          try {
            await this.apply(change);
          } catch (error) {
            this.refuse(error);
            if (this.facts) this.sliders.beta.set(this.facts.beta);
          }
          if (!this.playing && this.queue.length === 0) this.page.changed();
          continue;
        }
        if (!this.playing && this.ahead === null) break;
        const time = performance.now();
        target = this.ahead ?? target + (this.sliders.speed.value * Math.min(200, time - last)) / 1000;
        last = time;
        const until = this.ahead === null ? target : Math.min(target, Math.max(kEarliest, this.now()) + kAhead);
        const answer = await this.core.ask('flow.advance', {until: 10 ** Math.min(until, kLatest + 0.01), milliseconds: this.ahead === null ? kBudget : kAheadBudget}, true);
        if (mine !== this.making) break;
        this.moved(answer.value as Moment, answer.positions!, answer.clusters!);
        if (this.ahead === null) target = Math.max(kEarliest, Math.min(target, this.now() + 0.02 + 0.1 * this.sliders.speed.value));
        if (this.ahead !== null && performance.now() - shown < kAheadFrame) await this.measure(false, false);
        else if (this.ahead !== null || performance.now() - this.lastLook > 120) await this.look(false);
        const reached = this.now() >= (this.ahead ?? kLatest), resting = this.moment!.status !== 'complete';
        if (reached || resting) {
          this.ahead = null;
          if (this.playing) this.stop();
          else await this.look(true).then(() => this.page.changed());
        }
        if (this.ahead === null || performance.now() - shown > kAheadFrame) {
          await new Promise(requestAnimationFrame);
          shown = performance.now();
        }
      }
    } catch (error) {
      this.playing = false;
      this.ahead = null;
      this.refuse(error);
    } finally {
      this.looping = false;
    }
    if (this.queue.length > 0 || (mine !== this.making && (this.playing || this.ahead !== null))) void this.loop();
  }

  private moved(moment: Moment, positions: Float64Array, clusters: Uint32Array) {
    this.moment = moment;
    const frame: Kept = {positions, clusters, dim: this.facts!.dim, log10: this.now(), steps: moment.steps};
    this.sphere.show(frame);
    const last = this.kept.at(-1);
    if (!last || frame.log10 - last.log10 > 0.01 || frame.positions.length !== last.positions.length) this.kept.push(frame);
    else this.kept[this.kept.length - 1] = frame;
    if (this.kept.length * positions.length > kKeptNumbers || this.kept.length > 800) this.kept = this.kept.filter((_, k) => k % 2 === 0 || k === this.kept.length - 1);
    this.mark(frame.log10);
    replace(this.clock, `t = ${powerOfTen(moment.log10_time)}`, h('small', {}, moment.status === 'complete' ? `${moment.distinct} of ${this.facts!.tokens} move apart` : moment.status === 'collapsed' ? 'one cluster is left' : moment.status.replaceAll('_', ' ')));
  }

  private mark(log10: number) {
    const x = Math.max(kEarliest, log10);
    this.time.set(Math.min(kLatest, x));
    for (const curve of Object.values(this.curves)) curve.at(x);
  }

  // ---- What is measured.

  private async look(thorough: boolean): Promise<void> {
    if (!this.facts) return;
    const look = await this.measure(thorough, this.facts.tokens <= 4000);
    if (thorough) this.facts = await this.core.value<Facts>('flow.facts');  // the command says until when
    const last = this.series.at(-1);
    if (!last) return;  // another flow has begun meanwhile
    this.drawCurves();
    if (look.tree) this.tree.set(this.facts.tokens, look.tree as Merge[], last.x);
    this.tell(look.observation, look);
  }

  /** Into the series; draws nothing. */
  private async measure(thorough: boolean, tree: boolean): Promise<Look> {
    this.lastLook = performance.now();
    const request: Record<string, unknown> = {};
    if (!thorough) request.quick = true;
    if (tree) request.tree = true;
    const look = await this.core.value<Look>('flow.observe', request), o = look.observation;
    const x = Math.max(kEarliest, o.log10_time ?? kEarliest);
    while (this.series.length > 0 && this.series.at(-1)!.x >= x) this.series.pop();
    this.series.push({x, o});
    if (this.series.length > 1200) this.series = this.series.filter((_, k) => k % 2 === 0);
    return look;
  }

  private drawCurves() {
    if (this.series.length === 0) return;
    // Theory is smooth where looks are far apart.
    const at = new Map(this.series.map(s => [s.x, s.o])), first = this.series[0].x, x = this.series.at(-1)!.x;
    for (let k = Math.ceil(first / 0.2); k * 0.2 < x; ++k) if (!at.has(k * 0.2)) at.set(k * 0.2, {});
    const xs = [...at.keys()].sort((a, b) => a - b), column = (name: string) => xs.map(t => at.get(t)![name] ?? null);
    const predicted = this.theory.predicted_clusters || null;
    this.curves.energy.set([xs, column('energy_ratio')]);
    this.curves.clusters.set([xs, column('clusters'), xs.map(() => (this.facts!.dim === 2 ? predicted : null))]);
    this.curves.cosine.set([xs, column('mean_cosine'), xs.map(t => this.equiangular(t))]);
  }

  private equiangular(x: number): number | null {
    const curve = this.theory.equiangular;
    if (!curve || curve.length === 0) return null;
    const k = Math.round((x - curve[0][0]) / 0.1);
    return k < 0 ? null : k < curve.length ? curve[k][1] : curve.at(-1)![1];
  }

  private tell(o: Observation, look: Look) {
    const r = this.readout, m = this.moment!;
    r.set('clusters', rounded(o.clusters));
    r.set('mean cosine', rounded(o.mean_cosine, 6));
    r.set('energy ratio', rounded(o.energy_ratio, 5));
    r.set('effective rank', rounded(o.effective_rank, 3));
    r.set('steps', `${m.steps} (${m.rejected} rejected)`);
    r.set('engine', this.facts!.engine);
    const next = look.next_merge;
    this.theoryOut.set('next merge', next ? `in t ≈ ${powerOfTen(next.log10_time)}, at cosine ${rounded(next.cosine, 3)}` : (o.clusters ?? 2) < 2 ? 'none: one cluster is left' : '–', 'exact law of a pair, for the two clusters that would merge first alone');
  }

  private tellTheory() {
    const t = this.theory, out = this.theoryOut;
    out.set('fastest mode', t.predicted_clusters === undefined ? '–' : t.predicted_clusters === 0 ? 'none grows' : `${t.predicted_clusters}${this.facts!.dim === 2 ? ' clusters' : ' along a great circle'}`, 'linear stability of the uniform state');
    out.set('its growth time', t.log10_growth_time === null || t.log10_growth_time === undefined ? '–' : powerOfTen(t.log10_growth_time));
    if (t.critical_noise !== undefined) out.set('critical noise', rounded(t.critical_noise, 3));
  }

  // ---- Around it.

  close() {
    this.stop();
  }

  recolour() {
    this.sphere.recolour();
    for (const curve of Object.values(this.curves)) curve.recolour();
  }

  key(event: KeyboardEvent): boolean {
    const keys: Record<string, () => void> = {' ': () => this.toggle(), s: () => void this.stepOnce(), r: () => void this.begin({}), e: () => this.runTo(kLatest), a: () => this.addCluster(), n: () => void this.begin({seed: (Number(this.state.seed) + 1) % 1e9}), '+': () => this.nudge(1.25), '-': () => this.nudge(0.8)};
    const action = keys[event.key];
    if (!action) return false;
    action();
    return true;
  }

  private nudge(factor: number) {
    const beta = Math.min(1000, Math.max(0.1, Number((Number(this.state.beta) * factor).toPrecision(3))));
    this.sliders.beta.set(beta);
    this.turnBeta(beta, true);
  }

  private savePicture() {
    const frame = this.kept.at(-1);
    if (frame) saveSvg(this.picture(frame), 'tokens.svg');
    else this.page.say('The flow is only beginning; choose it again.');
  }

  /** The tokens as vectors, as they are seen now. */
  private picture(frame: Frame): SVGElement {
    const size = 600, count = frame.positions.length / frame.dim;
    const box = this.sphere.canvas.getBoundingClientRect(), scale = size / Math.min(box.width, box.height);
    const first = new Map<number, number>(), dots: {front: boolean; node: SVGElement}[] = [];
    for (let i = 0; i < count; ++i) if (!first.has(frame.clusters[i])) first.set(frame.clusters[i], i);
    const shade = coloursOf([...first.values()]);
    for (let i = 0; i < count; ++i) {
      const at = this.sphere.screen(i);
      const x = (at.x - box.left - box.width / 2) * scale + size / 2, y = (at.y - box.top - box.height / 2) * scale + size / 2;
      dots.push({front: at.front, node: svg('circle', {cx: x.toFixed(1), cy: y.toFixed(1), r: 5, fill: palette[shade.get(first.get(frame.clusters[i])!)!], 'fill-opacity': at.front || frame.dim === 2 ? 1 : 0.35})});
    }
    dots.sort((a, b) => Number(a.front) - Number(b.front));
    return svg('svg', {viewBox: `0 0 ${size} ${size}`, width: size, height: size}, svg('rect', {width: size, height: size, fill: 'var(--scene)'}), svg('circle', {cx: size / 2, cy: size / 2, r: size * 0.43, fill: 'none', stroke: 'var(--grid)'}), ...dots.map(d => d.node));
  }

  exports(): Exported[] {
    const list: Exported[] = [
      {name: 'png', words: 'Picture (PNG)', run: () => savePng(this.sphere.canvas, 'tokens.png')},
      {name: 'svg', words: 'Picture (SVG)', run: () => this.savePicture()},
      {name: 'tree', words: 'Merge tree (SVG)', run: () => saveSvg(this.tree.picture, 'merge_tree.svg')},
      {name: 'webm', words: this.recording ? 'End the film (WebM)' : 'Film from now on (WebM)', run: () => this.film()},
    ];
    if (this.facts?.needs_tokens)
      list.push({name: 'npy', words: 'tokens.npy of the command', run: async () => {
        const answer = await this.core.ask('flow.start', {}, false).catch(() => null);
        const rows = (answer?.value as number[] | undefined) ?? [];
        save(npy(Float64Array.from(rows), this.facts!.dim), 'tokens.npy');
      }});
    return list;
  }

  private async film(): Promise<void> {
    if (this.recording) {
      const blob = await this.recording.stop();
      this.recording = null;
      save(blob, 'tokens.webm');
      return;
    }
    this.recording = record(this.sphere.canvas);
    this.page.say('Filming; choose it again to end the film.');
    if (!this.playing) this.play();
  }

  /** For tests: velocity evaluations a second of the flow as it is, in this worker. */
  async speed(seconds: number): Promise<{steps: number; rejected: number; seconds: number}> {
    this.stop();
    const before = this.moment!;
    const answer = await this.core.ask('flow.advance', {milliseconds: 1000 * seconds}, true);
    this.moved(answer.value as Moment, answer.positions!, answer.clusters!);
    const after = this.moment!;
    return {steps: after.steps - before.steps, rejected: after.rejected - before.rejected, seconds: answer.milliseconds / 1000};
  }

  get busy(): boolean {
    return this.looping || this.core.busy;
  }

  autoplay() {
    if (!reducedMotion()) this.play();
  }

  snapshot() {
    return {moment: this.moment, facts: this.facts, positions: [...(this.kept.at(-1)?.positions ?? [])], clusters: [...(this.kept.at(-1)?.clusters ?? [])]};
  }
}
