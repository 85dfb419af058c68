// The context room: one attention layer on a context of up to 10^30 tokens, in closed form. An architect turns length, cosine and temperature, and sees which of
// three regimes it is: collapse, critical, identity.
import {Core, CoreError} from '../core/client';
import type {Asked} from '../core/messages';
import {Curve} from '../draw/curve';
import {group, Readout, slider} from '../page/controls';
import {h, powerOfTen, readable, replace, rounded} from '../page/dom';
import {savePng} from '../page/export';
import {usualValues, type Fields, type Values} from '../page/link';
import type {Exported, Page, Room} from './room';

export const contextFields: Fields = {
  log10n: {kind: 'number', min: 0.4, max: 30, usual: 6},
  rho: {kind: 'number', min: 0, max: 0.99, usual: 0.5},
  gamma: {kind: 'number', min: 0, max: 10, usual: 2},
  residual: {kind: 'number', min: 0, max: 5, usual: 0},
  layers: {kind: 'number', min: 1, max: 64, whole: true, usual: 1},
  trained: {kind: 'number', min: 0.4, max: 12, usual: 3.913},
};

export class ContextRoom implements Room {
  readonly name = 'context';
  readonly title = 'Context';
  readonly fields = contextFields;
  readonly root: HTMLElement;
  private core = new Core();
  private state = usualValues(contextFields);
  private latest: Asked | null = null;
  private busyAsking = false;
  private again = false;
  private headline = h('p', {class: 'headline', 'aria-live': 'polite', id: 'context-words'});
  private badge = h('div', {class: 'regime', id: 'regime'});
  private bars = h('div', {class: 'bars'});
  private readout = new Readout();
  private recipes = h('table', {class: 'recipes'});
  private curves = {
    weight: new Curve({title: 'Weight on itself', series: [{label: 'p₀', colour: 'blue'}], y: {min: 0, max: 1.02}, x: v => `γ ${rounded(v, 2)}`, height: 190, seek: x => this.set({gamma: Number(Math.max(0, Math.min(10, x)).toFixed(3))})}),
    cosine: new Curve({title: 'Cosine of two outputs', series: [{label: 'out', colour: 'vermillion'}], y: {min: 0, max: 1.02}, x: v => `γ ${rounded(v, 2)}`, height: 190, seek: x => this.set({gamma: Number(Math.max(0, Math.min(10, x)).toFixed(3))})}),
  };
  private sliders = {
    log10n: slider({id: 'context-n', label: 'n  tokens', min: 0.4, max: 30, step: 0.01, value: 6, words: v => powerOfTen(v), change: v => this.set({log10n: v})}),
    rho: slider({id: 'context-rho', label: 'ρ  cosine of two tokens', min: 0, max: 0.99, step: 0.005, value: 0.5, change: v => this.set({rho: v})}),
    gamma: slider({id: 'context-gamma', label: 'γ   (β = γ ln n)', min: 0, max: 10, step: 0.01, value: 2, change: v => this.set({gamma: v})}),
    residual: slider({id: 'context-residual', label: 'residual', min: 0, max: 5, step: 0.01, value: 0, change: v => this.set({residual: v})}),
    layers: slider({id: 'context-layers', label: 'layers', min: 1, max: 64, whole: true, value: 1, change: v => this.set({layers: v})}),
    trained: slider({id: 'context-trained', label: 'trained on', min: 0.4, max: 12, step: 0.001, value: 3.913, words: v => `${powerOfTen(v)} tokens`, change: v => this.set({trained: v})}),
  };

  constructor(private page: Page) {
    const s = this.sliders;
    this.root = h('section', {class: 'room context', 'aria-label': 'Context room'},
      h('aside', {class: 'panel controls'}, group('Context', s.log10n.root, s.rho.root), group('Layer', s.gamma.root, s.residual.root, s.layers.root), group('Architect', s.trained.root)),
      h('div', {class: 'middle'}, this.badge, this.headline, this.bars, this.curves.weight.root, this.curves.cosine.root),
      h('aside', {class: 'panel facts'}, this.readout.root, h('h3', {}, 'To stay critical when the context grows'), this.recipes));
  }

  values(): Values {
    return {...this.state};
  }

  command(): string {
    return this.latest?.command ?? '';
  }

  async open(values: Values): Promise<void> {
    this.state = {...values};
    for (const [name, s] of Object.entries(this.sliders)) s.set(Number(this.state[name]));
    await this.ask();
    this.page.changed();
  }

  private set(some: Values) {
    Object.assign(this.state, some);
    for (const [name, value] of Object.entries(some)) this.sliders[name as keyof typeof this.sliders].set(Number(value));
    void this.ask().then(() => this.page.changed());
  }

  private async ask(): Promise<void> {
    if (this.busyAsking) {
      this.again = true;
      return;
    }
    this.busyAsking = true;
    const v = this.state, tokens = (10 ** Number(v.log10n)).toPrecision(8);
    try {
      const settings = {tokens, rho: v.rho, gamma: v.gamma, ...(Number(v.residual) > 0 ? {residual: v.residual} : {}), ...(Number(v.layers) > 1 ? {layers: v.layers} : {})};
      this.latest = await this.core.value<Asked>('ask', {command: 'context', settings});
      const advice = Number(v.rho) >= 0 ? await this.core.value<Asked>('ask', {command: 'context', settings: {tokens, rho: v.rho, advise: true, 'trained-tokens': (10 ** Number(v.trained)).toPrecision(6)}}) : null;
      const rows = await this.sweep(tokens);
      this.tell(advice, rows);
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      replace(this.headline, `${error.message}.`);
    } finally {
      this.busyAsking = false;
    }
    if (this.again) {
      this.again = false;
      await this.ask();
    }
  }

  /** p0 and the cosine over gamma: one question each, all in the core. */
  private async sweep(tokens: string): Promise<{gamma: number; weight: number; cosine: number}[]> {
    const v = this.state;
    return this.core.value('context.sweep', {tokens: Number(tokens), rho: v.rho, residual: v.residual, low: 0, high: 10, count: 201});
  }

  private tell(advice: Asked | null, rows: {gamma: number; weight: number; cosine: number}[]) {
    const a = this.latest!, x = a.values, phase = String(x.phase ?? ''), num = (name: string) => (typeof x[name] === 'number' ? (x[name] as number) : null);
    replace(this.badge, ...['collapse', 'critical', 'identity'].map(name => h('span', {class: name === phase ? 'on' : ''}, name)));
    replace(this.headline, readable(a.headline));
    const bar = (name: string, share: number | null, colour: string) => h('div', {class: 'share'}, h('span', {}, name), h('span', {class: 'track'}, h('span', {class: 'fill', style: `width: ${100 * Math.max(0, Math.min(1, share ?? 0))}%; background: var(--${colour})`})), h('span', {class: 'value'}, share === null ? '–' : rounded(share, 4)));
    replace(this.bars, bar('weight on itself', num('self_weight'), 'blue'), bar('cosine of outputs', num('output_cosine'), 'vermillion'), bar('entropy / ln n', num('entropy_ratio'), 'green'), bar('angle left', num('angle_ratio'), 'purple'));
    const xs = rows.map(r => r.gamma);
    this.curves.weight.set([xs, rows.map(r => r.weight)]);
    this.curves.cosine.set([xs, rows.map(r => r.cosine)]);
    for (const curve of Object.values(this.curves)) curve.at(Number(this.state.gamma));
    const r = this.readout;
    r.set('β', rounded(num('beta'), 5));
    r.set('critical γ, n → ∞', rounded(num('critical_gamma'), 5));
    r.set('critical γ at this n', rounded(num('finite_critical_gamma'), 5));
    r.set('width of the window', rounded(num('width_gamma'), 3));
    r.set('weight on each other', rounded(num('other_weight'), 3));
    r.set('1 − cosine of outputs', rounded(num('output_gap'), 3));
    r.set('gain of a gradient', rounded(num('normalised_gain'), 4));
    const table = advice ? Object.values(advice.tables).find(t => t.labels.length > 0) : undefined;
    if (advice && table) {
      const cells = (row: (number | null)[]) => row.slice(0, 4).map(c => h('td', {}, rounded(c, 4)));
      replace(this.recipes, h('caption', {}, readable(advice.headline)), h('thead', {}, h('tr', {}, h('th', {}, 'recipe'), ...table.columns.slice(0, 4).map(c => h('th', {}, c.replaceAll('_', ' '))))), h('tbody', {}, ...table.rows.map((row, k) => h('tr', {}, h('th', {}, table.labels[k]), ...cells(row)))));
    }
  }

  close() {}

  recolour() {
    for (const curve of Object.values(this.curves)) curve.recolour();
  }

  key(): boolean {
    return false;
  }

  exports(): Exported[] {
    return [
      {name: 'png', words: 'Weights (PNG)', run: () => savePng(this.curves.weight.canvas()!, 'weight.png')},
      {name: 'cosine', words: 'Cosines (PNG)', run: () => savePng(this.curves.cosine.canvas()!, 'cosine.png')},
    ];
  }

  get busy(): boolean {
    return this.busyAsking;
  }

  snapshot() {
    return {latest: this.latest};
  }
}
