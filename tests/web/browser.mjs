// browser.mjs LAB_FOLDER PICTURES [ATTRACTOR]: the lab as a reader uses it, in headless chromium; each test leaves a picture to look at. Where the native
// program is given, commands that the lab exports are run by it.
import {strict as assert} from 'node:assert';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {idle, know, openLab, slide} from './lab_page.mjs';

const [folder, pictures, attractor] = process.argv.slice(2);
const lab = await openLab(folder, pictures);
const tests = [];
const test = (name, run) => tests.push({name, run});
const depth = {time: page => page.evaluate(() => globalThis.lab.open.snapshot().moment.log10_time ?? -Infinity)};

test('beta_while_running', async () => {
  const page = await lab.open({hash: '#room=depth&beta=4&tokens=200&seed=7'});
  await idle(page);
  await slide(page, 'speed', Math.log10(0.3));
  await page.click('#depth-play');
  await page.waitForFunction(() => (globalThis.lab.open.snapshot().moment.log10_time ?? -9) > -1.2);
  await slide(page, 'beta', Math.log10(60));
  await page.waitForFunction(() => globalThis.lab.open.snapshot().facts.beta === 60);
  const changed = await depth.time(page);
  await page.waitForFunction(t => globalThis.lab.open.snapshot().moment.log10_time > t + 0.3, changed);
  assert.equal(await page.locator('#depth-play').textContent(), 'Pause', 'it runs on');
  await lab.picture(page, 'beta_while_running');
  await page.click('#depth-play');
  await idle(page);
  assert.match(await page.evaluate(() => location.hash), /events=\d+:b:60/, 'the link has the change');
  await page.close();
});

test('dragged_token', async () => {
  const page = await lab.open({hash: '#room=depth&beta=20&tokens=48&seed=3'});
  await idle(page);
  const at = await page.evaluate(() => {
    for (let i = 0; i < 48; ++i) {
      const p = globalThis.lab.open.sphere.screen(i);
      const box = globalThis.lab.open.sphere.canvas.getBoundingClientRect(), middle = [box.left + box.width / 2, box.top + box.height / 2];
      if (p.front && Math.hypot(p.x - middle[0], p.y - middle[1]) < 130) return {i, ...p, middle};
    }
    return null;
  });
  const before = await know(page);
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.mouse.move(at.middle[0] + 60, at.middle[1] - 90, {steps: 6});
  await page.mouse.up();
  await page.waitForFunction(() => globalThis.lab.open.snapshot().facts.changes === 1);
  await idle(page);
  const after = await know(page);
  const moved = [];
  for (let i = 0; i < 48; ++i) if ([0, 1, 2].some(k => Math.abs(before.positions[3 * i + k] - after.positions[3 * i + k]) > 1e-6)) moved.push(i);
  assert.equal(moved.length, 1, 'one token moved, all others rest');
  const x = after.positions.slice(3 * moved[0], 3 * moved[0] + 3);
  assert.ok(Math.abs(Math.hypot(...x) - 1) < 1e-12, 'it is on the sphere');
  await lab.picture(page, 'dragged_token');
  await page.close();
});

test('collapse_beyond_1e20', async () => {
  const page = await lab.open({hash: '#room=depth&beta=40&tokens=64&seed=7'});
  await idle(page);
  const begun = Date.now();
  await page.click('#depth-end');
  await page.waitForFunction(() => globalThis.lab.open.snapshot().moment.status === 'collapsed', null, {timeout: 60_000});
  const seconds = (Date.now() - begun) / 1000;
  await idle(page);
  const {moment, clusters} = await know(page);
  assert.ok(moment.log10_time > 20, `t = 10^${moment.log10_time}`);
  assert.equal(new Set(clusters).size, 1);
  await lab.picture(page, 'collapse_beyond_1e20');
  const command = await page.evaluate(() => globalThis.lab.open.command());
  if (attractor) {
    const out = JSON.parse(execFileSync(attractor, [...command.split(' ').slice(1), '--json']));
    const native = Number(out.values?.log10_time ?? out.log10_time ?? Math.log10(out.time ?? out.values?.time));
    assert.ok(Math.abs(native - moment.log10_time) < 1e-6 * Math.abs(native), `natively 10^${native}, here 10^${moment.log10_time}`);
  }
  await page.close();
  return `t = 10^${moment.log10_time.toFixed(2)} after ${seconds.toFixed(1)} s (wanted: under 5)`;
});

test('training_winner_changes', async () => {
  const page = await lab.open({hash: '#room=training'});
  await idle(page);
  const before = await know(page);
  assert.equal(before.trained.selected[0], 0);
  const token = await page.locator('.plane .token[data-key="0 0"] .dot').boundingBox(), plane = await page.locator('#plane').boundingBox();
  const times = [];
  await page.mouse.move(token.x + token.width / 2, token.y + token.height / 2);
  await page.mouse.down();
  // Between the two others, where no direction prefers it.
  const target = {x: plane.x + plane.width / 2 + plane.height * 0.1, y: plane.y + plane.height / 2};
  for (let k = 1; k <= 12; ++k) {
    await page.mouse.move(token.x + (k / 12) * (target.x - token.x), token.y + (k / 12) * (target.y - token.y));
    await page.waitForTimeout(60);
    times.push((await know(page)).lastDrag.milliseconds);
  }
  await page.mouse.up();
  await page.waitForFunction(() => globalThis.lab.open.snapshot().trained.selected[0] !== 0, null, {timeout: 20_000});
  await idle(page);
  const after = await know(page);
  assert.ok(after.margin.chosen.gap <= 1e-9, `gap ${after.margin.chosen.gap}`);
  const shown = await page.locator('dd[data-name="relative duality gap"]').textContent();
  assert.match(shown, /10⁻¹.|^0$/, `the gap is shown: ${shown}`);
  assert.notEqual(await page.locator('.winners tr').getAttribute('data-winner'), '0');
  await lab.picture(page, 'training_winner_changes');
  await page.close();
  return `margin and certificate ${Math.max(...times).toFixed(0)} ms at most on a drag (wanted: under 50); gap ${after.margin.chosen.gap.toExponential(0)}`;
});

test('basins', async () => {
  const page = await lab.open({hash: '#room=training'});
  await idle(page);
  await page.click('#basins');
  await page.waitForFunction(() => (globalThis.lab.open.snapshot().map?.side ?? 0) >= 15, null, {timeout: 60_000});
  assert.equal((await know(page)).map.limits, 2, 'two choices that training can end with');
  await lab.picture(page, 'basins');
  await page.close();
});

test('phase_tile_to_flow', async () => {
  const page = await lab.open({hash: '#room=phase'});
  await page.waitForFunction(() => globalThis.lab?.open?.snapshot().done >= 14, null, {timeout: 120_000});
  await lab.picture(page, 'phase');
  const map = await page.locator('#phase-map image').boundingBox();
  await page.mouse.click(map.x + 0.6 * map.width, map.y + 0.5 * map.height);
  await page.waitForFunction(() => globalThis.lab.open.name === 'depth' && globalThis.lab.open.snapshot().facts);
  await idle(page);
  const {facts, moment} = await know(page);
  assert.equal(facts.tokens, 32);
  assert.equal(facts.dim, 2);
  assert.ok(Math.abs(facts.beta - (0.1 + 0.6 * 8.9)) < 0.2, `beta = ${facts.beta}`);
  assert.ok(moment.time >= 14.5, `t = ${moment.time}`);
  await lab.picture(page, 'phase_tile_to_flow');
  await page.close();
});

test('permalink', async () => {
  const page = await lab.open({hash: '#room=depth&beta=15&tokens=64&seed=5'});
  await idle(page);
  await page.click('#depth-play');
  await page.waitForFunction(() => (globalThis.lab.open.snapshot().moment.log10_time ?? -9) > -0.5);
  await slide(page, 'beta', Math.log10(30));
  await page.waitForFunction(() => globalThis.lab.open.snapshot().facts.beta === 30);
  await page.click('#depth-add');
  await page.waitForFunction(() => globalThis.lab.open.snapshot().facts.tokens === 76);
  await page.waitForTimeout(700);
  await page.click('#depth-play');
  await idle(page);
  await page.waitForTimeout(200);
  const hash = await page.evaluate(() => location.hash), before = await know(page);
  const other = await lab.open({hash});
  await idle(other);
  const after = await know(other);
  assert.deepEqual(after.positions, before.positions, 'the same bits');
  assert.deepEqual(after.clusters, before.clusters);
  assert.deepEqual(after.moment, before.moment);
  await lab.picture(other, 'permalink');
  await page.close();
  await other.close();
});

test('exports', async () => {
  const place = mkdtempSync(join(tmpdir(), 'lab-'));
  const page = await lab.open({hash: '#room=depth&beta=9&tokens=64&seed=7'});
  await idle(page);
  await page.click('#depth-play');
  await page.waitForTimeout(1200);
  await page.click('#depth-play');
  await idle(page);
  const take = async (name, file) => {
    await page.click('#export');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(`[data-export="${name}"]`)]);
    await download.saveAs(join(place, file));
    return readFileSync(join(place, file));
  };
  const png = await take('png', 'tokens.png');
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.ok(png.length > 5000, 'there is something in it');
  const svg = (await take('svg', 'tokens.svg')).toString();
  assert.ok(svg.includes('<svg') && (svg.match(/<circle/g) ?? []).length === 65 && !svg.includes('var('), 'a circle a token, colours written out');
  const tree = (await take('tree', 'tree.svg')).toString();
  assert.ok(tree.includes('<path'));
  await page.click('#export');
  await page.click('[data-export="webm"]');
  await page.waitForTimeout(1500);
  const film = await take('webm', 'tokens.webm');
  assert.equal(film.subarray(0, 4).toString('hex'), '1a45dfa3', 'a WebM');
  await idle(page).catch(() => undefined);
  await page.evaluate(() => globalThis.lab.open.stop());
  await page.click('#export');
  await lab.picture(page, 'exports');
  const command = await page.inputValue('#command');
  assert.match(command, /^attractor flow /);
  if (attractor) execFileSync(attractor, [...command.split(' ').slice(1), '--json']);
  await page.keyboard.press('Escape');
  const viewing = await lab.open();
  await viewing.goto(`${lab.address}icon.svg`);  // a page of this host, in which the picture opens
  await viewing.close();
  await page.goto(`${lab.address}#room=training`);
  await page.reload();
  await idle(page);
  const plane = (await take('svg', 'training.svg')).toString();
  assert.ok(plane.includes('<svg'));
  const problem = await take('problem', 'problem.json');
  if (attractor) {
    const native = JSON.parse(execFileSync(attractor, ['select', join(place, 'problem.json'), '--optimizer', 'flow', '--log10-time', '100', '--json']));
    const here = await know(page);
    assert.deepEqual(native.selected ?? native.values.selected, here.trained.selected);
  }
  assert.ok(JSON.parse(problem).X.length === 1);
  await page.close();
});

test('context', async () => {
  const page = await lab.open({hash: '#room=context&log10n=30&rho=0.5&gamma=2'});
  await idle(page);
  await page.waitForFunction(() => document.querySelector('#regime .on'));
  assert.equal(await page.locator('#regime .on').textContent(), 'critical');
  await slide(page, 'context-gamma', 1);
  await page.waitForFunction(() => document.querySelector('#regime .on').textContent === 'collapse');
  await slide(page, 'context-gamma', 4);
  await page.waitForFunction(() => document.querySelector('#regime .on').textContent === 'identity');
  await idle(page);
  await slide(page, 'context-gamma', 2);
  await idle(page);
  await lab.picture(page, 'context');
  await page.close();
});

test('bridge', async () => {
  const page = await lab.open({hash: '#room=bridge'});
  await page.waitForFunction(() => globalThis.lab?.open?.snapshot().bridge, null, {timeout: 120_000});
  await idle(page);
  const early = await know(page);
  await slide(page, 'bridge-at', 0.95);
  await page.waitForTimeout(300);
  await idle(page);
  const late = await know(page);
  assert.ok(late.beta > early.beta, 'training raises beta');
  assert.ok(late.clusters >= early.clusters, 'and sharper attention leaves more clusters at the same depth');
  assert.ok(await page.locator('#bridge-scene canvas').count() === 1, 'the viewer of the pages shows its scene');
  await lab.picture(page, 'bridge');
  await page.close();
});

test('phone', async () => {
  for (const room of ['depth', 'training', 'phase', 'context', 'bridge']) {
    const page = await lab.open({hash: `#room=${room}`, width: 420, height: 860, touch: true});
    await page.waitForFunction(() => globalThis.lab?.open);
    if (room !== 'phase') await idle(page, 120_000);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 420, `${room} is ${wide} pixels wide`);
    await lab.picture(page, `phone_${room}`);
    await page.close();
  }
});

test('dark', async () => {
  const page = await lab.open({hash: '#room=depth&beta=40&tokens=64&seed=7&steps=400', dark: true});
  await idle(page);
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(background.match(/\d+/g).map(Number).every(c => c < 60), background);
  await lab.picture(page, 'dark');
  await page.click('#theme');
  const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(light.match(/\d+/g).map(Number).every(c => c > 200), light);
  await page.goto(`${lab.address}?theme=dark#room=training`);
  await idle(page);
  await lab.picture(page, 'dark_training');
  await page.close();
});

test('keyboard_tour_embed_still', async () => {
  const page = await lab.open({hash: '#room=depth&tokens=64', still: true});
  await idle(page);
  await page.keyboard.press('s');
  await page.waitForFunction(() => globalThis.lab.open.snapshot().moment.steps === 1);
  await page.keyboard.press('+');
  await page.waitForFunction(() => globalThis.lab.open.snapshot().facts.beta > 9);
  await page.keyboard.press('2');
  await page.waitForFunction(() => globalThis.lab.open.name === 'training');
  await idle(page);
  await page.locator('.plane .token').first().focus();
  const x = (await know(page)).inputs[0].tokens[0].x;
  await page.keyboard.press('ArrowRight');
  assert.ok((await know(page)).inputs[0].tokens[0].x > x, 'arrows move a token');
  await idle(page);
  await page.keyboard.press('Escape');
  await page.click('#tour-start');
  for (let k = 1; k <= 7; ++k) {
    await page.waitForFunction(n => document.querySelector('#tour small')?.textContent === `${n} of 7`, k);
    await page.waitForTimeout(400);
    if (k === 3 || k === 5) await lab.picture(page, `tour_${k}`);
    await page.click('#tour-next');
  }
  assert.equal(await page.locator('#tour').isVisible(), false);
  await page.close();
  const embedded = await lab.open({query: '?embed', hash: '#room=depth&beta=40'});
  await idle(embedded);
  assert.equal(await embedded.locator('aside.controls').isVisible(), false);
  await lab.picture(embedded, 'embed');
  await embedded.close();
});

test('speed', async () => {
  const page = await lab.open({hash: '#room=depth&beta=9&tokens=1000&dim=3&seed=1'});
  await idle(page);
  // Dormand and Prince take six new velocities a step, accepted or not.
  const dense = await page.evaluate(() => globalThis.lab.open.speed(4));
  await page.goto(`${lab.address}#room=depth&beta=30&tokens=10000&dim=3&seed=1`);
  await page.reload();
  await idle(page, 120_000);
  const linear = await page.evaluate(() => globalThis.lab.open.speed(5));
  const rate = s => (6 * (s.steps + s.rejected)) / s.seconds;
  await page.evaluate(() => (globalThis.longTasks.length = 0));
  await page.goto(`${lab.address}#room=depth&beta=30&tokens=1000&dim=3&seed=2`);
  await page.reload();
  await idle(page);
  await page.evaluate(() => (globalThis.longTasks.length = 0));
  await page.click('#depth-play');
  await page.waitForTimeout(6000);
  const tasks = await page.evaluate(() => globalThis.longTasks);
  await lab.picture(page, 'speed');
  await page.close();
  return `n = 1000: ${rate(dense).toFixed(0)} velocities a second (wanted: 150); n = 10000, O(n): ${rate(linear).toFixed(0)} (wanted: 20); longest task of the main thread while it plays: ${Math.max(0, ...tasks).toFixed(0)} ms (wanted: under 50)`;
});

test('first_load', async () => {
  const {gzipSync} = await import('node:zlib');
  const page = await lab.open();
  await idle(page);
  const names = await page.evaluate(() => performance.getEntriesByType('resource').map(e => e.name).concat(location.href));
  const files = new Set(names.filter(n => n.startsWith(lab.address)).map(n => new URL(n).pathname.slice(1) || 'index.html'));
  for (const name of (await import('node:fs')).readdirSync(join(folder, 'assets'))) if (/\.(wasm|js)$/.test(name) && /worker|lab_core/.test(name)) files.add(`assets/${name}`);
  let bytes = 0;
  for (const file of files) if (statSync(join(folder, file), {throwIfNoEntry: false})?.isFile()) bytes += gzipSync(readFileSync(join(folder, file))).length;
  await page.close();
  assert.ok(bytes <= 1.5e6, `${bytes} bytes`);
  return `${(bytes / 1000).toFixed(0)} kB gzipped in ${files.size} files (at most 1500)`;
});

const only = process.env.LAB_TESTS?.split(',');
let failed = 0;
for (const {name, run} of tests) {
  if (only && !only.includes(name)) continue;
  const begun = Date.now();
  try {
    const words = await run();
    console.log(`passed  ${name}  ${((Date.now() - begun) / 1000).toFixed(1)} s${words ? `  ${words}` : ''}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}\n${error.stack ?? error}`);
  }
}
await lab.close();
const {errors, foreign} = lab.account;
console.log(`${errors.length} errors in the console, ${foreign.length} requests to other hosts`);
for (const line of [...errors, ...foreign].slice(0, 20)) console.log(`  ${line}`);
process.exitCode = failed > 0 || errors.length > 0 || foreign.length > 0 ? 1 : 0;
