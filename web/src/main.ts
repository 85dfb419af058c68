// The page around the rooms: which room is open, the address that says its state, light and dark, exports, keys, the tour, and embedding (?embed).
import './style.css';
import {button} from './page/controls';
import {h, replace} from './page/dom';
import {LinkError, parseHash, usualValues, writeHash, type Fields, type Values} from './page/link';
import {Tour} from './page/tour';
import {BridgeRoom, bridgeFields} from './rooms/bridge';
import {ContextRoom, contextFields} from './rooms/context';
import {DepthRoom} from './rooms/depth';
import {depthFields} from './rooms/depth_fields';
import {PhaseRoom, phaseFields} from './rooms/phase';
import type {Page, Room} from './rooms/room';
import {TrainingRoom, trainingFields} from './rooms/training';

const fields: Record<string, Fields> = {depth: depthFields, training: trainingFields, phase: phaseFields, context: contextFields, bridge: bridgeFields};
const makers: Record<string, (page: Page) => Room> = {depth: p => new DepthRoom(p), training: p => new TrainingRoom(p), phase: p => new PhaseRoom(p), context: p => new ContextRoom(p), bridge: p => new BridgeRoom(p)};
const titles: Record<string, string> = {depth: 'Depth', training: 'Training', phase: 'Phase', context: 'Context', bridge: 'Bridge'};

class Lab implements Page {
  private rooms = new Map<string, Room>();
  private current: Room | null = null;
  private written = '';
  private place = h('main', {id: 'room'});
  private message = h('div', {class: 'message', role: 'status', id: 'message', hidden: true});
  private tabs = new Map<string, HTMLButtonElement>();
  private menu = h('div', {class: 'menu', id: 'export-menu', hidden: true});
  private tour = new Tour(async stop => {
    await this.go(stop.room, stop.values);
    if (stop.play && this.current instanceof DepthRoom) this.current.autoplay();
  });
  private timer = 0;

  constructor(root: HTMLElement) {
    const embed = new URLSearchParams(location.search).has('embed');
    document.documentElement.classList.toggle('embed', embed);
    const tabs = Object.keys(titles).map((name, k) => {
      const tab = h('button', {type: 'button', role: 'tab', 'data-room': name, title: `${k + 1}`, click: () => void this.go(name, {})}, titles[name]);
      this.tabs.set(name, tab);
      return tab;
    });
    const header = h('header', {},
      h('a', {href: './', class: 'brand'}, 'Attractor', h('small', {}, ' lab')),
      h('nav', {role: 'tablist', 'aria-label': 'Rooms'}, ...tabs),
      h('div', {class: 'tools'}, button('Tour', () => void this.tour.go(0), {id: 'tour-start', title: 'T'}), button('Export', () => void this.toggleMenu(), {id: 'export', title: 'X'}), button('Link', () => void this.copyLink(), {id: 'link', title: 'L'}), button('', () => this.theme(), {id: 'theme', icon: '◐', title: 'Light or dark (D)'})));
    header.querySelector('#theme')!.setAttribute('aria-label', 'Light or dark');
    root.append(header, this.menu, this.place, this.message, this.tour.root);
    const kept = this.keptTheme();
    if (kept) document.documentElement.dataset.theme = kept;
    addEventListener('hashchange', () => {
      if (location.hash !== this.written) void this.fromHash();
    });
    addEventListener('keydown', event => this.key(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.current?.recolour());
  }

  private keptTheme(): string | null {
    const given = new URLSearchParams(location.search).get('theme');
    if (given === 'dark' || given === 'light') return given;
    try {
      const kept = localStorage.getItem('theme');
      return kept === 'dark' || kept === 'light' ? kept : null;
    } catch {
      return null;
    }
  }

  say(words: string, kind: 'note' | 'error' = 'note') {
    replace(this.message, words);
    this.message.hidden = false;
    this.message.dataset.kind = kind;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.message.hidden = true), 7000);
  }

  changed() {
    if (!this.current) return;
    const hash = writeHash(this.current.name, this.current.values(), this.current.fields);
    this.written = hash;
    if (hash.length < 12000 && location.hash !== hash) history.replaceState(null, '', hash);
  }

  private room(name: string): Room {
    let room = this.rooms.get(name);
    if (!room) this.rooms.set(name, (room = makers[name](this)));
    return room;
  }

  async go(name: string, some: Values): Promise<void> {
    const until = typeof some.until === 'number' ? some.until : null;
    const given = Object.fromEntries(Object.entries(some).filter(([key]) => Object.hasOwn(fields[name], key)));
    const known = this.rooms.get(name), values = Object.keys(given).length === 0 && known ? known.values() : {...usualValues(fields[name]), ...given};
    await this.show(name, values);
    if (until !== null && this.current instanceof DepthRoom) this.current.runUntil(until);
  }

  private async show(name: string, values: Values): Promise<void> {
    const room = this.room(name);
    if (this.current !== room) {
      this.current?.close();
      this.current = room;
      replace(this.place, room.root);
      document.title = `${room.title} · Attractor lab`;
      for (const [other, tab] of this.tabs) tab.setAttribute('aria-selected', String(other === name));
      this.menu.hidden = true;
      room.recolour();
    }
    await room.open(values);
  }

  async fromHash(): Promise<void> {
    this.written = location.hash;
    if (location.hash === '' || location.hash === '#') return this.go('depth', {});
    try {
      const {room, values} = parseHash(location.hash, fields);
      await this.show(room, values);
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      if (!this.current) await this.go('depth', {});
      this.say(`This link was ignored: ${error.message}.`, 'error');
    }
  }

  private async toggleMenu(): Promise<void> {
    if (!this.menu.hidden) return void (this.menu.hidden = true);
    const room = this.current!;
    await room.settle?.();
    if (room !== this.current) return;
    const command = room.command();
    const run = (action: () => Promise<void> | void) => {
      this.menu.hidden = true;
      Promise.resolve(action()).catch(error => this.say(`This could not be exported: ${error instanceof Error ? error.message : error}.`, 'error'));
    };
    replace(this.menu, h('h2', {}, 'Export'), ...room.exports().map(e => h('button', {type: 'button', 'data-export': e.name, click: () => run(e.run)}, e.words)),
      command !== '' && h('label', {for: 'command'}, 'The same, natively'), command !== '' && h('textarea', {id: 'command', readonly: true, rows: 3}, command),
      command !== '' && h('button', {type: 'button', 'data-export': 'command', click: () => run(() => navigator.clipboard.writeText(command))}, 'Copy the command'));
    this.menu.hidden = false;
    (this.menu.querySelector('button') as HTMLButtonElement | null)?.focus();
  }

  private async copyLink(): Promise<void> {
    this.changed();
    try {
      await navigator.clipboard.writeText(location.href);
      this.say('The address of this state is on the clipboard.');
    } catch {
      this.say('The address bar has the link to this state.');
    }
  }

  private theme() {
    const root = document.documentElement, dark = getComputedStyle(root).colorScheme.startsWith('dark');
    root.dataset.theme = dark ? 'light' : 'dark';
    try {
      localStorage.setItem('theme', root.dataset.theme);
    } catch {
      // a page that may keep nothing forgets it
    }
    this.current?.recolour();
  }

  private key(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && !this.menu.hidden) return void (this.menu.hidden = true);
    if (this.tour.key(event)) return event.preventDefault();
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && event.key !== 'Escape') return;
    if (target.tagName === 'BUTTON' && (event.key === ' ' || event.key === 'Enter')) return;
    const rooms = Object.keys(titles), number = Number(event.key);
    if (number >= 1 && number <= rooms.length) void this.go(rooms[number - 1], {});
    else if (event.key === 't') void this.tour.go(0);
    else if (event.key === 'x') void this.toggleMenu();
    else if (event.key === 'l') void this.copyLink();
    else if (event.key === 'd') this.theme();
    else if (!this.current?.key(event)) return;
    event.preventDefault();
  }

  /** For tests: what the open room knows. */
  get open(): Room | null {
    return this.current;
  }
}

const lab = new Lab(document.getElementById('lab')!);
Object.assign(globalThis, {lab});
void lab.fromHash();
