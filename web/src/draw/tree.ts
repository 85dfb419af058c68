// The merge tree, growing: leaves on the left in the order in which they will stand together, time to the right, as an SVG.
import {colour, coloursOf, palette, powerOfTen, replace, svg} from '../page/dom';

export type Merge = [left: number, right: number, size: number, log10_time: number | null];

export class MergeTree {
  readonly root = document.createElement('figure');
  readonly picture = svg('svg', {viewBox: '0 0 320 190', role: 'img', 'aria-label': 'Merge tree'}) as SVGSVGElement;
  private key = '';

  constructor() {
    this.root.className = 'tree';
    const caption = document.createElement('figcaption');
    caption.append('Merge tree');
    this.root.append(caption, this.picture);
  }

  /** Only what is not yet drawn is drawn: the last merge and their number tell. */
  set(tokens: number, merges: Merge[], now: number | null) {
    const last = merges.length > 0 ? merges[merges.length - 1][3] : null;
    const key = `${tokens} ${merges.length} ${last} ${now === null ? '' : now.toFixed(1)} ${colour('ink')}`;
    if (key === this.key) return;
    this.key = key;
    const kMost = 160, width = 320, height = 190, left = 6, right = 314, top = 6, bottom = 168;
    // Clusters that early merges made stand for their leaves where there are too many to draw.
    const drop = Math.max(0, tokens - kMost);
    const children = new Map<number, [number, number, number]>();
    merges.forEach(([a, b, , t], k) => children.set(tokens + k, [a, b, t ?? -2]));
    const hidden = new Set<number>();
    merges.slice(0, Math.min(drop, merges.length)).forEach((_, k) => hidden.add(tokens + k));
    const roots = new Set<number>();
    for (let i = 0; i < tokens + merges.length; ++i) roots.add(i);
    for (const [a, b] of children.values()) roots.delete(a), roots.delete(b);
    const order = new Map<number, number>();
    let next = 0;
    const visit = (root: number) => {  // without recursion: chains are long
      const stack = [root];
      while (stack.length > 0) {
        const node = stack.pop()!, below = children.get(node);
        if (!below || hidden.has(node)) order.set(node, next++);
        else stack.push(below[1], below[0]);
      }
    };
    for (const root of roots) visit(root);
    const times = merges.slice(Math.min(drop, merges.length)).map(m => m[3] ?? -2);
    const low = Math.min(-2, ...(times.length > 0 ? [Math.floor(Math.min(...times))] : [])), high = Math.max(now ?? low + 1, low + 1, ...times);
    const x = (t: number) => left + ((Math.max(low, t) - low) / (high - low)) * (right - left);
    const y = (slot: number) => top + ((slot + 0.5) / Math.max(1, next)) * (bottom - top);
    const places = new Map<number, {x: number; y: number}>();
    for (const [node, slot] of order) places.set(node, {x: x(hidden.has(node) ? (children.get(node)?.[2] ?? low) : low), y: y(slot)});
    const paths: SVGElement[] = [];
    merges.forEach((_, k) => {
      const node = tokens + k;
      if (hidden.has(node)) return;
      const [a, b, t] = children.get(node)!, one = places.get(a), two = places.get(b);
      if (!one || !two) return;
      const at = x(t);
      paths.push(svg('path', {d: `M${one.x.toFixed(1)} ${one.y.toFixed(1)}H${at.toFixed(1)}V${two.y.toFixed(1)}H${two.x.toFixed(1)}`, class: 'branch'}));
      places.set(node, {x: at, y: (one.y + two.y) / 2});
    });
    const leaves = new Map([...roots].map(root => [root, leaf(root, children)])), shade = coloursOf([...leaves.values()]);
    [...roots].forEach(root => {
      const from = places.get(root);
      if (from) paths.push(svg('path', {d: `M${from.x.toFixed(1)} ${from.y.toFixed(1)}H${right}`, stroke: palette[shade.get(leaves.get(root)!)!], class: 'stem'}));
    });
    const step = Math.max(1, Math.ceil((high - low) / 6)), ticks: SVGElement[] = [];
    for (let t = Math.ceil(low / step) * step; t <= high; t += step)
      ticks.push(svg('line', {x1: x(t), x2: x(t), y1: top, y2: bottom, class: 'tick'}), svg('text', {x: x(t), y: height - 6, 'text-anchor': 'middle'}, powerOfTen(t, 0).replace('1·', '')));
    this.picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    replace(this.picture, ...ticks, ...paths);
  }
}

/** The first token of a cluster, which gives it its colour. */
const leaf = (node: number, children: Map<number, [number, number, number]>): number => {
  let least = Infinity;
  const stack = [node];
  while (stack.length > 0) {
    const at = stack.pop()!, below = children.get(at);
    if (below) stack.push(below[0], below[1]);
    else least = Math.min(least, at);
  }
  return least;
};
