// Controls with names: sliders (plain or logarithmic), choices, switches, buttons. Each is usable by keyboard, and says its value in words.
import {h, rounded} from './dom';

export interface Slider {
  root: HTMLElement;
  input: HTMLInputElement;
  value: number;
  set(value: number): void;
}

interface SliderOptions {
  id: string;
  label: string;
  min: number;
  max: number;
  step?: number;
  log?: boolean;
  whole?: boolean;
  value: number;
  help?: string;
  words?: (value: number) => string;
  change?: (value: number, done: boolean) => void;
}

export const slider = (o: SliderOptions): Slider => {
  const to = (x: number) => (o.log ? Math.log10(x) : x);
  const from = (x: number) => {
    let value = o.log ? 10 ** x : x;
    if (o.log) value = Number(value.toPrecision(3));
    if (o.whole) value = Math.round(value);
    return Math.min(o.max, Math.max(o.min, value));
  };
  const words = o.words ?? ((value: number) => rounded(value));
  const output = h('output', {for: o.id});
  const input = h('input', {type: 'range', id: o.id, min: to(o.min), max: to(o.max), step: o.log ? 0.001 : o.step ?? (o.whole ? 1 : (o.max - o.min) / 1000), title: o.help});
  const made: Slider = {
    root: h('div', {class: 'control slider'}, h('label', {for: o.id}, o.label), output, input),
    input,
    value: o.value,
    set(value: number) {
      made.value = value;
      input.value = String(to(value));
      output.textContent = words(value);
      input.setAttribute('aria-valuetext', words(value));
    },
  };
  made.set(o.value);
  const tell = (done: boolean) => {
    const value = from(Number(input.value));
    made.value = value;
    output.textContent = words(value);
    input.setAttribute('aria-valuetext', words(value));
    o.change?.(value, done);
  };
  input.addEventListener('input', () => tell(false));
  input.addEventListener('change', () => tell(true));
  return made;
};

export interface Choice {
  root: HTMLElement;
  select: HTMLSelectElement;
  value: string;
  set(value: string): void;
}

export const choice = (id: string, label: string, options: [string, string][], value: string, change?: (value: string) => void): Choice => {
  const select = h('select', {id}, ...options.map(([name, words]) => h('option', {value: name}, words)));
  const made: Choice = {
    root: h('div', {class: 'control choice'}, h('label', {for: id}, label), select),
    select,
    value,
    set(next: string) {
      made.value = next;
      select.value = next;
    },
  };
  made.set(value);
  select.addEventListener('change', () => {
    made.value = select.value;
    change?.(select.value);
  });
  return made;
};

export const button = (label: string, action: () => void, more: {id?: string; title?: string; class?: string; icon?: string} = {}): HTMLButtonElement =>
  h('button', {type: 'button', id: more.id, title: more.title, class: more.class, click: action}, more.icon ? h('span', {class: 'icon', 'aria-hidden': 'true'}, more.icon) : null, label);

export const group = (title: string, ...children: (Node | null)[]): HTMLElement =>
  h('details', {class: 'group', open: true}, h('summary', {}, title), ...children);

/** A table of names and values that is written anew. */
export class Readout {
  root = h('dl', {class: 'readout'});
  private cells = new Map<string, HTMLElement>();
  set(name: string, value: string, title?: string) {
    let cell = this.cells.get(name);
    if (!cell) {
      cell = h('dd', {'data-name': name});
      this.cells.set(name, cell);
      this.root.append(h('dt', {title}, name), cell);
    }
    if (cell.textContent !== value) cell.textContent = value;
  }
}
