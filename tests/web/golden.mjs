// golden.mjs LAB_REPEAT CORE_FOLDER: the same calls natively and in WebAssembly. WebAssembly has no fused multiply-add, so last bits differ; numbers agree
// to 1e-12 times the amplification of the run, which is measured natively: everything a run starts from is moved by one unit in the last place, and
// what comes out moves by so many units. Words, verdicts, merge trees and labels are the same.
import {execFileSync} from 'node:child_process';
import {strict as assert} from 'node:assert';
import {loadCore} from './core.mjs';

const [program, folder] = process.argv.slice(2);
const kUnit = 2 ** -52;

// Runs: a list of calls each. "nudge" stands where a flow's start is moved.
const flow = (settings, ...more) => ({
  name: `flow ${Object.entries(settings).map(([k, v]) => `${k}=${v}`).join(' ')}`,
  calls: [{call: 'flow.make', settings}, {call: 'flow.change', settings: {beta: settings.beta}}, ...more, {call: 'flow.observe', tree: true}],
  nudged: [{call: 'flow.make', settings}, {call: 'flow.nudge'}, ...more, {call: 'flow.observe', tree: true}],
});
const until = (time, steps) => ({call: 'flow.advance', until: time, ...(steps ? {steps} : {})});
const inputs = [{label: 1, tokens: [{x: -0.1, y: 1, score: 1}, {x: 1, y: 0.03, score: 0.9}, {x: 0.02, y: -0.01, score: 0.11}]}];
const three = [
  {label: 1, tokens: [{x: 1.03, y: 0.11, score: 1}, {x: -0.9, y: 1.01, score: 0.5}, {x: -0.41, y: -0.6, score: 0.5}]},
  {label: -1, tokens: [{x: 0.9, y: 0.4, score: 1}, {x: -1.02, y: 0.7, score: 0.5}, {x: -0.6, y: -0.43, score: 0.4}]},
  {label: 1, tokens: [{x: 1.2, y: -0.2, score: 1}, {x: -0.7, y: 1.2, score: 0.5}, {x: -0.5, y: -0.7, score: 0.3}]},
];
const one = (name, request) => ({name, calls: [request], nudged: [moved(request)]});

/** Every number that is not whole, one unit in the last place further. */
const moved = value => {
  if (typeof value === 'number') return Number.isInteger(value) ? value : value * (1 + kUnit);
  if (Array.isArray(value)) return value.map(moved);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, moved(v)]));
  return value;
};

const runs = [
  flow({beta: 4, tokens: 64, dim: 3, seed: 7}, until(3)),
  flow({beta: 4, tokens: 64, dim: 3, seed: 7}, until(1e30)),
  flow({beta: 9, tokens: 32, dim: 3, seed: 1}, until(50)),
  flow({beta: 40, tokens: 64, dim: 3, seed: 7}, until(1e30)),
  flow({beta: 60, tokens: 120, dim: 2, seed: 1}, until(100)),
  flow({beta: 1.5, tokens: 16, dim: 8, seed: 3}, until(5)),
  flow({beta: 2, tokens: 24, dim: 32, seed: 3}, until(4)),
  flow({beta: 3, tokens: 40, dim: 3, seed: 2, dynamics: 'usa'}, until(0.2)),
  flow({beta: 5, tokens: 48, dim: 3, seed: 5, mask: 'causal'}, until(4)),
  flow({beta: 4, tokens: 48, dim: 3, seed: 5, norm: 'pre'}, until(20)),
  flow({beta: 4, tokens: 48, dim: 3, seed: 5, norm: 'ngpt'}, until(4)),
  flow({beta: 4, tokens: 48, dim: 3, seed: 5, stepper: 'layers', step: 0.1}, until(1e9, 60)),
  flow({beta: 4, tokens: 48, dim: 3, seed: 5, stepper: 'rk4', step: 0.1}, until(1e9, 60)),
  flow({beta: 2, tokens: 48, dim: 3, seed: 5, noise: 0.1, step: 0.02}, until(1e9, 50)),
  flow({beta: 8, tokens: 8, dim: 8, seed: 0, init: 'equiangular', rho: 0.1}, until(3)),
  flow({beta: 8, tokens: 60, dim: 3, seed: 4, init: 'clusters', centres: 5, spread: 0.2}, until(6)),
  flow({beta: 10, tokens: 600, dim: 3, seed: 4, engine: 'sphere', accuracy: 1e-9, tolerance: 1e-7}, until(1)),
  flow({beta: 10, tokens: 500, dim: 2, seed: 4, engine: 'circle', accuracy: 1e-11}, until(2)),
  one('train flow', {call: 'train', inputs, start: [0, 0], settings: {optimizer: 'flow', 'log10-time': 100, outputs: 40}}),
  one('train flow to 10^1000', {call: 'train', inputs: three, start: [0.1, 0.2], settings: {optimizer: 'flow', 'log10-time': 1000, outputs: 40}}),
  one('train ngd', {call: 'train', inputs: three, start: [0, 0], settings: {optimizer: 'ngd', step: 0.1, steps: 300, outputs: 40}}),
  one('train gd', {call: 'train', inputs, start: [0, 0], settings: {optimizer: 'gd', step: 0.5, steps: 300, outputs: 40}}),
  one('margins', {call: 'margins', inputs: three, chosen: [0, 0, 0]}),
  one('basins', {call: 'basins', inputs, side: 9, radius: 2.2}),
  one('phase', {call: 'ask', command: 'phase', settings: {tokens: 16, dim: 2, beta: '1,4,9', time: 5, outputs: 10, replicates: 8}}),
  one('context', {call: 'ask', command: 'context', settings: {tokens: 1e6, rho: 0.53, gamma: 2.1}}),
  one('context sweep', {call: 'context.sweep', tokens: 1e30, rho: 0.53, residual: 0.31, low: 0, high: 9.7, count: 21}),
  one('pair', {call: 'ask', command: 'reduce pair', settings: {beta: 12.3, angle: 1.57}}),
  one('equiangular', {call: 'ask', command: 'reduce equiangular', settings: {tokens: 100, beta: 3.3}}),
  one('stability', {call: 'ask', command: 'stability', settings: {beta: 17.3, dim: 2}}),
  one('bridge', {call: 'bridge', settings: {data: 'example:authors-like', 'log10-time': 10, checkpoints: 3, tokens: 24, time: 5}}),
  one('refused', {call: 'ask', command: 'context', settings: {tokens: -3}}),
];

const natively = calls => {
  const lines = execFileSync(program, {input: calls.map(c => JSON.stringify(c)).join('\n') + '\n', maxBuffer: 1 << 28}).toString().trimEnd().split('\n');
  const answers = [];
  const view = new DataView(new ArrayBuffer(8));
  for (let k = 0; k < calls.length; ++k) {
    const digits = lines[2 * k + 1] ?? '', positions = [];
    for (let at = 0; at < digits.length; at += 16) view.setBigUint64(0, BigInt('0x' + digits.slice(at, at + 16))), positions.push(view.getFloat64(0));
    answers.push({answer: JSON.parse(lines[2 * k]), positions});
  }
  return answers;
};

const inWasm = async calls => {
  const core = await loadCore(folder);
  return calls.map(call => {
    const answer = core.ask(call);
    return {answer, positions: core.positions()};
  });
};

// Numbers by their place; what counts steps of a solver may differ by rounding, and the scene of the viewer is rounded to 16 bits.
const kCounts = new Set(['steps', 'rejected', 'scene', 'balanced']);
const leaves = (value, path = '', out = new Map()) => {
  const key = path.split('.').pop();
  if (kCounts.has(key)) return out;
  if (value !== null && typeof value === 'object') for (const [k, v] of Object.entries(value)) leaves(v, `${path}.${k}`, out);
  else out.set(path, value);
  return out;
};
const size = (a, b) => Math.max(Math.abs(a), Math.abs(b), 1e-300);
const relative = (a, b) => (a === b ? 0 : Math.abs(a - b) / Math.max(1, size(a, b)));

let worst = {name: '', ratio: 0};
for (const run of runs) {
  const native = natively(run.calls), wasm = await inWasm(run.calls), nudged = natively(run.nudged);
  let moved = 0, apart = 0, numbers = 0, place = '';
  const compare = (a, b, use) => {
    for (let k = 0; k < a.length; ++k) {
      const one = leaves(a[k].answer), two = leaves(b[k].answer);
      for (const [path, x] of one) {
        const y = two.get(path);
        if (typeof x === 'number' && typeof y === 'number') use(relative(x, y), path);
        else if (use.strict) assert.equal(y, x, `${run.name}: ${path}`);
      }
      if (use.strict) assert.equal(two.size, one.size, `${run.name}: as many numbers`);
      a[k].positions.forEach((x, i) => use(relative(x, b[k].positions[i]), `position ${i}`));
    }
  };
  compare(native, nudged, d => (moved = Math.max(moved, Number.isFinite(d) ? d : 0)));
  const strictly = (d, path) => {
    ++numbers;
    if (d > apart) (apart = d), (place = path);
  };
  strictly.strict = true;
  compare(native, wasm, strictly);
  const allowed = 1e-12 * Math.max(1, moved / kUnit);
  if (apart / allowed > worst.ratio) worst = {name: run.name, ratio: apart / allowed};
  console.log(`${apart <= allowed ? 'agrees' : 'DIFFERS'}  ${numbers} numbers, ${apart.toExponential(1)} apart at ${place || '-'}, allowed ${allowed.toExponential(1)} (amplification ${(moved / kUnit).toExponential(1)})  ${run.name}`);
  if (apart > allowed) process.exitCode = 1;
}
console.log(`${runs.length} runs; the closest call: ${worst.name}, ${(100 * worst.ratio).toFixed(2)} % of what is allowed`);
