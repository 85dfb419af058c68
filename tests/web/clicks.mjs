// clicks.mjs LAB_FOLDER PICTURES MINUTES [SEED]: clicks, keys, drags and slides at random in every room. No error, no page that answers no more, and memory that does not
// grow, of the page after a collection and of the whole browser, workers and their WebAssembly with it: the last third needs at most 1.5 times the first third and 40 MB.
import {strict as assert} from 'node:assert';
import {readdirSync, readFileSync} from 'node:fs';
import {openLab} from './lab_page.mjs';

const [folder, pictures, minutes = '1', seed = '1'] = process.argv.slice(2);
const lab = await openLab(folder, pictures);
let state = Number(seed) * 7919 + 17;
const random = () => ((state = (state * 1103515245 + 12345) % 2147483648) / 2147483648);
const page = await lab.open();
await page.waitForFunction(() => globalThis.lab?.open);
page.on('download', download => void download.delete().catch(() => undefined));

const actions = {
  click: async () => {
    const buttons = await page.locator('button:visible, summary:visible').all();
    if (buttons.length > 0) await buttons[Math.floor(random() * buttons.length)].click({timeout: 1000}).catch(() => undefined);
  },
  slide: async () => {
    const share = random(), which = random();
    await page.evaluate(([s, w]) => {
      const all = [...document.querySelectorAll('main input[type=range]')].filter(e => e.offsetParent);
      const input = all[Math.floor(w * all.length)];
      if (!input) return;
      // Runs of ten thousand tokens take long by right; they are in other tests.
      const most = input.id === 'tokens' ? Math.log10(2000) : Number(input.max);
      input.value = String(Number(input.min) + s * (most - Number(input.min)));
      input.dispatchEvent(new Event('input', {bubbles: true}));
      input.dispatchEvent(new Event('change', {bubbles: true}));
    }, [share, which]);
  },
  choose: async () => {
    const which = random(), what = random();
    await page.evaluate(([w, o]) => {
      const all = [...document.querySelectorAll('main select')].filter(e => e.offsetParent), select = all[Math.floor(w * all.length)];
      if (!select) return;
      select.selectedIndex = Math.floor(o * (select.options.length - (select.id === 'preset' ? 1 : 0)));
      select.dispatchEvent(new Event('change', {bubbles: true}));
    }, [which, what]);
  },
  drag: async () => {
    const [x, y] = [250 + 750 * random(), 80 + 700 * random()];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 200 * (random() - 0.5), y + 200 * (random() - 0.5), {steps: 4});
    await page.mouse.up();
  },
  key: () => page.keyboard.press([' ', 's', 'r', 'e', 'a', 'n', '+', '-', '1', '2', '3', '4', '5', 'b', 'd', 'Escape', 'Tab', 'ArrowRight', 'Enter'][Math.floor(random() * 19)]),
};
const names = Object.keys(actions);
const heap = async () => {
  await page.evaluate(() => globalThis.gc?.());
  return page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
};
/// Of all processes that this one has started, MB; what they share is counted once.
const whole = () => {
  const parents = new Map();
  for (const id of readdirSync('/proc').filter(name => /^\d+$/.test(name)))
    try {
      parents.set(Number(id), Number(readFileSync(`/proc/${id}/stat`, 'utf8').replace(/^.*\) . /s, '').split(' ')[0]));
    } catch { /* it has ended */ }
  const ours = id => parents.has(id) && (parents.get(id) === process.pid || ours(parents.get(id)));
  let sum = 0;
  for (const id of parents.keys())
    try {
      if (ours(id)) sum += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'))[1]) / 1e3;
    } catch { /* it has ended */ }
  assert.ok(sum > 50, 'the memory of a browser can be read');
  return sum;
};
const end = Date.now() + 60_000 * Number(minutes), samples = [], wholes = [];
let done = 0, next = 0;
while (Date.now() < end) {
  await actions[names[Math.floor(random() * names.length)]]();
  ++done;
  if (Date.now() > next) {
    next = Date.now() + Math.min(20_000, 3000 * Number(minutes));
    samples.push(await heap());
    wholes.push(whole());
    const alive = await Promise.race([page.evaluate(() => document.querySelectorAll('main > section').length), new Promise(r => setTimeout(() => r(-1), 15_000))]);
    assert.equal(alive, 1, 'the page answers');
  }
  await page.waitForTimeout(30);
}
await lab.picture(page, 'clicks');
await lab.close();
const mean = list => list.reduce((a, b) => a + b, 0) / list.length;
const thirds = list => [list.slice(0, Math.max(1, Math.floor(list.length / 3))), list.slice(-Math.max(1, Math.floor(list.length / 3)))].map(mean);
console.log(`${done} actions in ${minutes} minutes, ${lab.account.errors.length} errors`);
for (const [what, list] of [['page', samples], ['whole browser', wholes]]) {
  const [first, last] = thirds(list);
  console.log(`memory of the ${what}: ${first.toFixed(1)} MB at first, ${last.toFixed(1)} MB at last, ${Math.max(...list).toFixed(1)} MB at most`);
  assert.ok(last <= 1.5 * first + 40, `memory of the ${what} grows`);
}
assert.equal(lab.account.errors.length, 0, lab.account.errors.slice(0, 5).join('\n'));
assert.equal(lab.account.foreign.length, 0, lab.account.foreign.join('\n'));
