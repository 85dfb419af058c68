// hostile.mjs LAB_FOLDER PICTURES: a thousand addresses that nobody wrote by hand in good faith. Each is refused with a sentence, or is a state the room can have;
// none runs a script, asks another host, changes the page's elements by its text, or leaves an error.
import {strict as assert} from 'node:assert';
import {openLab} from './lab_page.mjs';

const [folder, pictures] = process.argv.slice(2);
const lab = await openLab(folder, pictures);
let state = 12345;
const random = () => ((state = (state * 1103515245 + 12345) % 2147483648) / 2147483648);
const pick = list => list[Math.floor(random() * list.length)];

const scripts = ['<script>globalThis.hacked=1</script>', '<img src=x onerror="globalThis.hacked=1">', '"><svg onload=globalThis.hacked=1>', 'javascript:globalThis.hacked=1', '${globalThis.hacked=1}', "');globalThis.hacked=1;('", '{{constructor.constructor("globalThis.hacked=1")()}}'];
const rooms = ['depth', 'training', 'phase', 'context', 'bridge', '__proto__', 'constructor', 'toString', '', 'DEPTH', 'hasOwnProperty'];
const names = ['beta', 'tokens', 'dim', 'seed', 'init', 'steps', 'events', 'problem', 'optimizer', 'log10-time', 'rho', 'gamma', 'log10n', 'time', 'high', '__proto__', 'constructor', 'prototype', 'toString', 'room', 'x', 'at', 'norm', 'mask', 'noise', ''];
const values = ['', 'NaN', 'Infinity', '-Infinity', '1e400', '-1', '0', '1e9', '99999999999999999999', '0x10', '1e-400', '9'.repeat(400), '%00', '%', '%zz', '%E0%A4%A', '\u202e', '😀', '../../etc/passwd', 'http://example.invalid/x.js', '1:b:9;'.repeat(3000), '0:m:1,2', '0:m:99999,1,0,0', '5:b:1e400', '1:a:0,0,0', '0:m:0,0,0,0', '1:0,0,1:0,0,1', '1:0,0,1:0,0,1;2:1,1,1:0,0,0', '1,2,3', 'null', 'undefined', '[object Object]', 'true', '1e3', '2.5', '__proto__', ...scripts];
const encode = text => (random() < 0.5 ? encodeURIComponent(text) : text.replace(/[&#]/g, ''));
const hash = () => {
  const kind = random();
  if (kind < 0.1) return '#' + Array.from({length: 1 + Math.floor(random() * 300)}, () => String.fromCharCode(33 + Math.floor(random() * 90))).join('');
  if (kind < 0.2) return '#' + encode(pick(scripts));
  if (kind < 0.23) return '#room=depth&events=' + 'x'.repeat(20000);
  if (kind < 0.33) return `#room=${pick(['depth', 'training', 'context'])}&${pick(['beta', 'seed', 'tokens', 'steps', 'x', 'log10-time', 'rho', 'gamma'])}=${pick([1, 2, 5, 30, 500, -1, 0.5, 1e9])}`;  // half of them in good faith
  const parts = [`room=${encode(kind < 0.8 ? pick(rooms.slice(0, 5)) : pick(rooms))}`];
  for (let k = 0; k < 1 + random() * 4; ++k) parts.push(`${encode(pick(names))}=${encode(pick(values))}`);
  if (random() < 0.1) parts.reverse();
  return '#' + parts.join(pick(['&', '&', '&', ';', '&&']));
};

const page = await lab.open();
await page.waitForFunction(() => globalThis.lab?.open);
const count = Number(process.env.LAB_HASHES ?? 1000);
let refused = 0, taken = 0;
for (let k = 0; k < count; ++k) {
  const text = hash();
  const outcome = await page.evaluate(async given => {
    const message = document.getElementById('message');
    message.hidden = true;
    // The same way as a reader's: the address changes, the page reads it.
    history.replaceState(null, '', location.pathname + location.search);
    location.hash = given;
    await Promise.race([globalThis.lab.fromHash().catch(error => (message.textContent = `thrown ${error}`)), new Promise(r => setTimeout(r, 3000))]);
    return {words: message.hidden ? '' : message.textContent, hacked: globalThis.hacked, injected: document.querySelectorAll('#lab script, #lab img, #lab iframe, #lab object, [onload], [onerror]').length, prototype: Object.keys(Object.prototype).length};
  }, text);
  assert.equal(outcome.hacked, undefined, `a script ran: ${text}`);
  assert.equal(outcome.injected, 0, `elements came from ${text}`);
  assert.equal(outcome.prototype, 0, `the prototype of objects has changed: ${text}`);
  assert.ok(!outcome.words.startsWith('thrown'), `${outcome.words}: ${text}`);
  if (outcome.words === '') ++taken;
  else ++refused;
}
assert.ok(refused > count / 2 && taken > count / 50, `${refused} refused, ${taken} taken`);
await lab.picture(page, 'hostile');
// And as the first thing that a page sees.
for (const text of ['#room=depth&beta=<script>', '#%E0%A4%A', `#${scripts[1]}`, '#room=__proto__&x=1']) {
  const fresh = await lab.open({hash: text});
  await fresh.waitForFunction(() => document.getElementById('message') && !document.getElementById('message').hidden);
  assert.match(await fresh.locator('#message').textContent(), /^This link was ignored: /);
  assert.equal(await fresh.evaluate(() => globalThis.hacked), undefined);
  await fresh.close();
}
// The policy itself: a script that gets in by any other way does not run.
const blocked = await page.evaluate(() => new Promise(resolve => {
  document.addEventListener('securitypolicyviolation', event => resolve(event.violatedDirective), {once: true});
  const script = document.createElement('script');
  script.textContent = 'globalThis.hacked = 1';
  document.body.append(script);
  setTimeout(() => resolve('nothing was blocked'), 2000);
}));
assert.match(blocked, /script-src/);
assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
await lab.close();
const errors = lab.account.errors.filter(e => !/Content Security Policy/.test(e));
assert.equal(errors.length, 0, errors.join('\n'));
assert.equal(lab.account.foreign.length, 0, lab.account.foreign.join('\n'));
console.log(`${count} hashes: ${refused} refused with a sentence, ${taken} were states that a room can have; no script ran (${blocked} blocks one that is put in by hand)`);
