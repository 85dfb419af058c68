// The state of the depth room: settings of `attractor flow` under their own names, the changes made on the way, and how many steps were taken.
import type {Settings} from '../core/messages';
import type {Fields, Values} from '../page/link';

export const inits = ['uniform', 'equiangular', 'cap', 'clusters', 'circle'] as const;
export const norms = ['post', 'pre', 'peri', 'sandwich', 'mix', 'ngpt', 'deepnorm', 'damped-post', 'ln-scaling', 'branch'] as const;
export const steppers = ['adaptive', 'layers', 'rk4'] as const;

export const depthFields: Fields = {
  dynamics: {kind: 'word', words: ['sa', 'usa'], usual: 'sa'},
  beta: {kind: 'number', min: 0, max: 1e4, usual: 9},
  tokens: {kind: 'number', min: 2, max: 20000, whole: true, usual: 64},
  dim: {kind: 'number', min: 2, max: 64, whole: true, usual: 3},
  seed: {kind: 'number', min: 0, max: 1e9, whole: true, usual: 7},
  init: {kind: 'word', words: inits, usual: 'uniform'},
  rho: {kind: 'number', min: -0.2, max: 0.99, usual: 0.1},
  'cap-angle': {kind: 'number', min: 0.01, max: 3.1, usual: 0.8},
  centres: {kind: 'number', min: 1, max: 50, whole: true, usual: 6},
  spread: {kind: 'number', min: 0, max: 1, usual: 0.15},
  mode: {kind: 'number', min: 0, max: 64, whole: true, usual: 4},
  amplitude: {kind: 'number', min: 0, max: 1, usual: 0.05},
  noise: {kind: 'number', min: 0, max: 2, usual: 0},
  norm: {kind: 'word', words: norms, usual: 'post'},
  mask: {kind: 'word', words: ['full', 'causal'], usual: 'full'},
  stepper: {kind: 'word', words: steppers, usual: 'adaptive'},
  step: {kind: 'number', min: 0.01, max: 1, usual: 0.1},
  steps: {kind: 'number', min: 0, max: 1e7, whole: true, usual: 0},
  events: {kind: 'text', pattern: /^(\d{1,8}:[bnma]:-?\d[-+\d.e,]*(;|$))*$/, most: 9000, usual: ''},
};

/** A change made while it ran: b beta, n noise, m a token moved, a tokens added. */
export interface Change {
  steps: number;
  kind: 'b' | 'n' | 'm' | 'a';
  numbers: number[];
}

export const writeChanges = (changes: Change[]) => changes.map(c => `${c.steps}:${c.kind}:${c.numbers.join(',')}`).join(';');

/** Nothing that is not finite, not in order, or not what its kind takes. */
export const readChanges = (text: string, dim: number): Change[] | null => {
  const all: Change[] = [];
  for (const part of text === '' ? [] : text.replace(/;$/, '').split(';')) {
    const [steps, kind, list] = part.split(':'), numbers = list.split(',').map(Number);
    const count = numbers.length;
    const fits = kind === 'b' || kind === 'n' ? count === 1 && numbers[0] >= 0 && numbers[0] <= 1e4 : kind === 'm' ? count === dim + 1 && Number.isInteger(numbers[0]) && numbers[0] >= 0 : count % dim === 0 && count > 0;
    if (!fits || !numbers.every(x => Number.isFinite(x) && Math.abs(x) <= 1e6)) return null;
    if (all.length > 0 && Number(steps) < all[all.length - 1].steps) return null;
    all.push({steps: Number(steps), kind: kind as Change['kind'], numbers});
  }
  return all.length <= 300 ? all : null;
};

/** Settings of flow: what the other settings make useless is left out, as flow would refuse it. */
export const settingsOf = (v: Values): Settings => {
  const s: Settings = {dynamics: v.dynamics, beta: v.beta, tokens: v.tokens, dim: v.dim, seed: v.seed, init: v.init};
  if (v.init === 'equiangular') s.rho = v.rho;
  if (v.init === 'cap') s['cap-angle'] = v['cap-angle'];
  if (v.init === 'clusters') s.centres = v.centres, s.spread = v.spread;
  if (v.init === 'circle') s.mode = v.mode, s.amplitude = v.amplitude, s.dim = 2;
  if (Number(v.noise) > 0) s.noise = v.noise;
  if (v.norm !== 'post') s.norm = v.norm;
  if (v.mask !== 'full') s.mask = v.mask;
  if (Number(v.noise) > 0) s.step = Math.min(0.05, Number(v.step));
  else if (v.stepper !== 'adaptive') s.stepper = v.stepper, s.step = v.step;
  if (s.dim === 3 && Number(v.tokens) >= 4000 && v.norm === 'post' && v.mask === 'full' && Number(v.noise) === 0 && v.stepper !== 'layers') s.engine = 'sphere', s.accuracy = 1e-6, s.tolerance = 1e-5;
  if (Number(v.tokens) > 1024) s['exact-limit'] = 512;
  return s;
};
