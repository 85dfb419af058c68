// Elements from names, attributes and children. Texts become text nodes: nothing is ever read as HTML.
type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | null | undefined>;

const apply = (element: Element, attributes: Attributes) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
};

export const h = <K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag);
  apply(element, attributes);
  element.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return element;
};

export const svg = (tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  apply(element, attributes);
  element.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return element;
};

export const replace = (element: Element, ...children: Child[]) =>
  element.replaceChildren(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));

/** The value of a custom property of the page's style: pictures follow light and dark. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || '#888';

/** Okabe and Ito's colours, which people with any colour vision tell apart. */
export const palette = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#b8860b', '#7a5cc7'];

/** A colour for each cluster by its first token, so that it keeps it while it lives; as few clusters as there are colours all differ. */
export const coloursOf = (leaders: number[]): Map<number, number> => {
  const colours = new Map<number, number>(), taken = new Set<number>();
  for (const leader of [...leaders].sort((a, b) => a - b)) {
    let shade = leader % palette.length;
    if (leaders.length <= palette.length) while (taken.has(shade)) shade = (shade + 1) % palette.length;
    taken.add(shade);
    colours.set(leader, shade);
  }
  return colours;
};

export const reducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

const raised = (whole: number) => [...String(whole)].map(c => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)])).join('');

/** A sentence of the core with its powers written as such. */
export const readable = (sentence: string): string => sentence.replace(/\^\{(-?\d+)\}/g, (_, power) => raised(Number(power)));

/** 10 to a whole power. */
export const tenTo = (power: number): string => `10${raised(Math.round(power))}`;

/** 10^log10 as people read it. */
export const powerOfTen = (log10: number | null | undefined, digits = 2): string => {
  if (log10 === null || log10 === undefined || Number.isNaN(log10)) return '0';
  if (log10 === -Infinity) return '0';
  if (log10 > -2.5 && log10 < 4) {
    const value = 10 ** log10;
    return value.toPrecision(value >= 100 ? 4 : 3).replace(/\.?0+$/, '');
  }
  let exponent = Math.floor(log10), mantissa = 10 ** (log10 - exponent);
  if (Number(mantissa.toFixed(digits)) >= 10) ++exponent, mantissa /= 10;
  return Math.abs(exponent) > 999 ? `10${raised(Math.round(log10))}` : `${mantissa.toFixed(digits)}·10${raised(exponent)}`;
};

export const rounded = (value: number | null | undefined, digits = 4): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return (value < 0 ? '−' : '') + powerOfTen(Math.log10(size));
  return Number(value.toPrecision(digits)).toString().replace('-', '−');
};
