// The bridge: on the left attention is trained and its norm grows; on the right that norm is the beta with which the same tokens flow through depth. The slider is
// training time. The scene below is the one that `attractor bridge` writes into its page, shown by the same viewer.
import {mount} from '@viewer';
import {Core, CoreError} from '../core/client';
import type {Facts, Look, Moment} from '../core/messages';
import {Curve} from '../draw/curve';
import {Sphere} from '../draw/sphere';
import {button, choice, group, Readout, slider} from '../page/controls';
import {h, powerOfTen, replace, rounded, tenTo} from '../page/dom';
import {savePng} from '../page/export';
import {usualValues, type Fields, type Values} from '../page/link';
import type {Exported, Page, Room} from './room';

const problems = ['authors-like', 'single-local', 'multi', 'losses'] as const;

export const bridgeFields: Fields = {
  problem: {kind: 'word', words: problems, usual: 'authors-like'},
  'log10-time': {kind: 'number', min: 2, max: 100, usual: 30},
  tokens: {kind: 'number', min: 4, max: 400, whole: true, usual: 64},
  dim: {kind: 'number', min: 2, max: 3, whole: true, usual: 3},
  seed: {kind: 'number', min: 0, max: 1e9, whole: true, usual: 0},
  time: {kind: 'number', min: 0.5, max: 200, usual: 20},
  at: {kind: 'number', min: 0, max: 1, usual: 0.4},
};

interface Bridge {
  values: Record<string, unknown>;
  command: string;
  moments: {log_time: number | null; norm: number; softmax_min: number | null; bound: number | null}[];
  checkpoints: {log_time: number | null; beta: number; clusters: number | null; mean_cosine: number | null; softmax_min: number | null}[];
  tokens: number;
  dim: number;
  scene?: unknown;
}

const kLn10 = Math.LN10;

export class BridgeRoom implements Room {
  readonly name = 'bridge';
  readonly title = 'Bridge';
  readonly fields = bridgeFields;
  readonly root: HTMLElement;
  private trainer = new Core();
  private flow = new Core();
  private state = usualValues(bridgeFields);
  private bridge: Bridge | null = null;
  private wanted: number | null = null;
  private flowing = false;
  private playing = false;
  private run = 0;
  private beta = 0;
  private clusters: number | null = null;
  private stage = h('div', {class: 'stage'});
  private clock = h('div', {class: 'clock', id: 'bridge-clock'});
  private words = h('p', {class: 'headline', 'aria-live': 'polite', id: 'bridge-words'});
  private scene = h('div', {class: 'viewer', id: 'bridge-scene'});
  private sphere: Sphere;
  private readout = new Readout();
  private curves = {
    norm: new Curve({title: 'Training: β = ‖p‖', series: [{label: '‖p‖', colour: 'blue'}], height: 150, seek: x => this.seek(x)}),
    weight: new Curve({title: 'Least selected weight', series: [{label: 'softmax', colour: 'vermillion'}, {label: 'bound', colour: 'ink-soft', dashed: true}], y: {min: 0, max: 1.02}, height: 150, seek: x => this.seek(x)}),
    clusters: new Curve({title: 'Depth: clusters at the end', series: [{label: 'clusters', colour: 'green'}], height: 150, seek: x => this.seek(x)}),
  };
  private at = slider({id: 'bridge-at', label: 'training time', min: 0, max: 1, step: 0.002, value: 0.4, words: v => this.timeWords(v), change: (v, done) => this.move(v, done)});
  private playButton = button('Play', () => this.toggle(), {id: 'bridge-play', class: 'primary'});
  private sliders = {
    log10: slider({id: 'bridge-log10', label: 'train until', min: 2, max: 100, whole: true, value: 30, words: v => `t = ${tenTo(v)}`, change: (v, done) => done && this.set({'log10-time': v})}),
    tokens: slider({id: 'bridge-tokens', label: 'n  tokens', min: 4, max: 400, log: true, whole: true, value: 64, change: (v, done) => done && this.set({tokens: v})}),
    time: slider({id: 'bridge-time', label: 'depth', min: 0.5, max: 200, log: true, value: 20, change: (v, done) => done && this.set({time: v})}),
  };
  private problem = choice('bridge-problem', 'problem', problems.map(p => [p, p]), 'authors-like', v => this.set({problem: v}));
  private dim = choice('bridge-dim', 'tokens live on', [['2', 'the circle'], ['3', 'the sphere']], '3', v => this.set({dim: Number(v)}));

  constructor(private page: Page) {
    this.sphere = new Sphere(this.stage);
    const s = this.sliders;
    this.root = h('section', {class: 'room bridge', 'aria-label': 'Bridge'},
      h('aside', {class: 'panel controls'}, group('Training', this.problem.root, s.log10.root), group('Depth', s.tokens.root, this.dim.root, s.time.root)),
      h('div', {class: 'middle'}, this.words, h('div', {class: 'pair'}, h('div', {class: 'curves'}, this.curves.norm.root, this.curves.weight.root, this.curves.clusters.root), h('div', {class: 'stage-box'}, this.stage, this.clock)), h('div', {class: 'timeline'}, this.at.root), h('div', {class: 'bar'}, this.playButton)),
      h('aside', {class: 'panel facts'}, this.readout.root, h('h3', {}, 'The page that the command writes shows'), this.scene));
  }

  values(): Values {
    return {...this.state};
  }

  command(): string {
    return this.bridge?.command ?? '';
  }

  private settings() {
    const v = this.state;
    return {data: `example:${v.problem}`, 'log10-time': v['log10-time'], checkpoints: 10, tokens: v.tokens, dim: v.dim, seed: v.seed, time: v.time};
  }

  async open(values: Values): Promise<void> {
    this.state = {...values};
    const s = this.sliders, v = this.state, mine = ++this.run;
    s.log10.set(Number(v['log10-time'])), s.tokens.set(Number(v.tokens)), s.time.set(Number(v.time));
    this.problem.set(String(v.problem)), this.dim.set(String(v.dim));
    replace(this.words, 'Training …');
    try {
      const bridge = await this.trainer.value<Bridge>('bridge', {settings: this.settings()});
      if (mine !== this.run) return;
      this.bridge = bridge;
      const xs = bridge.moments.map(m => (m.log_time ?? 0) / kLn10);
      this.curves.norm.set([xs, bridge.moments.map(m => m.norm)]);
      this.curves.weight.set([xs, bridge.moments.map(m => m.softmax_min), bridge.moments.map(m => m.bound)]);
      this.curves.clusters.set([bridge.checkpoints.map(c => (c.log_time ?? 0) / kLn10), bridge.checkpoints.map(c => c.clusters)]);
      replace(this.words, 'Training grows ‖p‖ with ln t, and ‖p‖ is the β of the flow: turn training time, and watch what the same tokens do in depth.');
      if (bridge.scene) {
        replace(this.scene);
        mount(this.scene, bridge.scene as Parameters<typeof mount>[1]);
      }
      this.move(Number(v.at), true);
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      if (mine === this.run) replace(this.words, `${error.message}.`);
    }
    this.page.changed();
  }

  private set(some: Values) {
    void this.open({...this.state, ...some});
  }

  private moment(share: number) {
    const m = this.bridge?.moments ?? [];
    return m[Math.min(m.length - 1, Math.round(share * (m.length - 1)))];
  }

  private timeWords(share: number): string {
    const m = this.moment(share);
    return m ? `t = ${powerOfTen(m.log_time === null ? null : m.log_time / kLn10)}, β = ${rounded(m.norm, 3)}` : '';
  }

  private seek(log10: number) {
    const m = this.bridge?.moments ?? [], k = m.findIndex(x => (x.log_time ?? 0) / kLn10 >= log10);
    if (k >= 0) this.move(k / Math.max(1, m.length - 1), true);
  }

  private move(share: number, done: boolean) {
    const m = this.moment(share);
    if (!m) return;
    this.state.at = Number(share.toFixed(3));
    this.at.set(share);
    for (const curve of Object.values(this.curves)) curve.at((m.log_time ?? 0) / kLn10);
    this.wanted = m.norm;
    void this.follow();
    if (done) this.page.changed();
  }

  /** The flow with the newest beta; those that were passed over are left out. */
  private async follow(): Promise<void> {
    if (this.flowing) return;
    this.flowing = true;
    try {
      while (this.wanted !== null) {
        const beta = this.wanted, v = this.state, mine = this.run;
        this.wanted = null;
        const made = (await this.flow.ask('flow.make', {settings: {tokens: v.tokens, dim: v.dim, seed: v.seed, beta: beta.toPrecision(12)}})).value as Facts;
        const end = await this.flow.ask('flow.advance', {until: v.time, milliseconds: 4000}, true);
        if (mine !== this.run) continue;
        const moment = end.value as Moment;
        this.sphere.show({positions: end.positions!, clusters: end.clusters!, dim: made.dim});
        const look = (await this.flow.ask('flow.observe', {quick: true})).value as Look;
        this.beta = beta;
        this.clusters = look.observation.clusters;
        replace(this.clock, `β = ${rounded(beta, 4)}`, h('small', {}, `${rounded(this.clusters)} ${this.clusters === 1 ? 'cluster' : 'clusters'} at depth ${powerOfTen(moment.log10_time)}`));
        const r = this.readout, o = look.observation;
        r.set('clusters', rounded(o.clusters)), r.set('mean cosine', rounded(o.mean_cosine)), r.set('attention entropy', rounded(o.attention_entropy));
      }
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      this.page.say(`${error.message}.`, 'error');
    } finally {
      this.flowing = false;
    }
  }

  private toggle() {
    this.playing = !this.playing;
    this.playButton.lastChild!.textContent = this.playing ? 'Pause' : 'Play';
    if (!this.playing) return;
    let share = Number(this.state.at) >= 0.999 ? 0 : Number(this.state.at), last = performance.now();
    const step = () => {
      if (!this.playing) return;
      const now = performance.now();
      if (!this.flowing) {
        share = Math.min(1, share + Math.min(0.05, (now - last) / 12_000));
        last = now;
        this.move(share, share >= 1);
        if (share >= 1) return this.toggle();
      }
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  close() {
    if (this.playing) this.toggle();
  }

  recolour() {
    this.sphere.recolour();
    for (const curve of Object.values(this.curves)) curve.recolour();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key !== ' ') return false;
    this.toggle();
    return true;
  }

  exports(): Exported[] {
    return [
      {name: 'png', words: 'Tokens (PNG)', run: () => savePng(this.sphere.canvas, 'bridge.png')},
      {name: 'norm', words: 'Training (PNG)', run: () => savePng(this.curves.norm.canvas()!, 'training.png')},
    ];
  }

  get busy(): boolean {
    return this.flowing || this.trainer.busy || this.flow.busy;
  }

  snapshot() {
    return {beta: this.beta, clusters: this.clusters, bridge: this.bridge && {moments: this.bridge.moments.length, checkpoints: this.bridge.checkpoints}};
  }
}
