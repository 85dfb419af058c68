// The lab in Debian's chromium: serves a built lab on loopback, opens pages, and keeps account of errors in the console, of requests to other hosts, and of
// long tasks on the main thread.
import {spawn} from 'node:child_process';
import {createRequire} from 'node:module';
import {existsSync, mkdirSync} from 'node:fs';
import {join} from 'node:path';

const source = new URL('../..', import.meta.url).pathname;
const {chromium} = createRequire(join(source, 'web/package.json'))('playwright-core');

export const openLab = async (folder, pictures) => {
  const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
  if (!program) throw new Error('chromium is missing (packages.txt, section test)');
  mkdirSync(pictures, {recursive: true});
  const server = spawn('/usr/bin/python3', [join(source, 'tools/serve_lab.py'), folder], {stdio: ['ignore', 'pipe', 'inherit']});
  const address = await new Promise((resolve, reject) => {
    server.stdout.once('data', text => resolve(String(text).trim()));
    server.once('exit', code => reject(new Error(`serve_lab ended with status ${code}`)));
  });
  const browser = await chromium.launch({executablePath: program, args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--js-flags=--expose-gc', '--enable-precise-memory-info']});
  const account = {errors: [], foreign: []};
  const open = async ({hash = '', query = '', width = 1360, height = 860, dark = false, still = false, touch = false} = {}) => {
    const context = await browser.newContext({viewport: {width, height}, colorScheme: dark ? 'dark' : 'light', reducedMotion: still ? 'reduce' : 'no-preference', hasTouch: touch, acceptDownloads: true, permissions: ['clipboard-read', 'clipboard-write']});
    const page = await context.newPage();
    // Playwright's own compiles the condition in the page, which the page's policy forbids; this one asks again and again from outside.
    page.waitForFunction = async (condition, argument, {timeout = 30_000} = {}) => {
      for (const end = Date.now() + timeout; Date.now() < end; await new Promise(r => setTimeout(r, 50)))
        if (await page.evaluate(condition, argument).catch(() => false)) return;
      throw new Error(`still not so after ${timeout / 1000} s: ${condition}`);
    };
    page.on('console', message => message.type() === 'error' && account.errors.push(`${message.text()} ${message.location().url}`.trim()));
    page.on('pageerror', error => account.errors.push(String(error)));
    context.on('request', request => {
      const url = request.url();
      if (!url.startsWith(address) && !url.startsWith('data:') && !url.startsWith('blob:')) account.foreign.push(url);
    });
    await page.addInitScript(() => {
      globalThis.longTasks = [];
      new PerformanceObserver(list => globalThis.longTasks.push(...list.getEntries().map(e => e.duration))).observe({entryTypes: ['longtask']});
    });
    await page.goto(address + query + hash);
    return page;
  };
  const close = async () => {
    await browser.close();
    server.kill();
  };
  return {open, close, account, address, picture: (page, name) => page.screenshot({path: join(pictures, `${name}.png`)})};
};

/** What the open room knows. */
export const know = page => page.evaluate(() => globalThis.lab.open.snapshot());
export const idle = (page, timeout = 60_000) => page.waitForFunction(() => globalThis.lab?.open && !globalThis.lab.open.busy, null, {timeout});
export const slide = (page, id, value) =>
  page.locator(`#${id}`).evaluate((element, to) => {
    element.value = String(to);
    element.dispatchEvent(new Event('input', {bubbles: true}));
    element.dispatchEvent(new Event('change', {bubbles: true}));
  }, value);
