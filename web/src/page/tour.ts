// A guided tour of seven steps for a first lecture: each opens a state, says what to look at, and waits for Next.
import type {Values} from './link';
import {h, replace} from './dom';

export interface Stop {
  title: string;
  words: string;
  room: string;
  values: Values;
  target: string;  // what is framed
  play?: boolean;
}

export const stops: Stop[] = [
  {title: 'Tokens are particles', words: 'Each dot is a token on the sphere. Every layer of attention moves it towards the tokens it attends to. Colours are clusters.', room: 'depth', values: {beta: 9, tokens: 64, dim: 3, seed: 7}, target: '#depth-stage', play: true},
  {title: 'Turn the temperature', words: 'β is the inverse temperature of attention. Small β: everything collapses at once. Large β: each token sees its neighbours only. Turn it while it runs.', room: 'depth', values: {beta: 4, tokens: 64, dim: 3, seed: 7}, target: '#beta', play: true},
  {title: 'Clusters that live for ages', words: 'At β = 40 tokens first gather in a few clusters, and those wait. Time runs in decades: the slider goes to 10³⁰. The energy climbs a staircase, one step for each merger.', room: 'depth', values: {beta: 40, tokens: 64, dim: 3, seed: 7}, target: '.timeline', play: true},
  {title: 'Theory beside it', words: 'The exact law of a pair says when the two closest clusters merge; the stability of the uniform state says how many clusters form on the circle. Drag a token, and see it answer.', room: 'depth', values: {beta: 60, tokens: 120, dim: 2, seed: 1}, target: '.room.depth .facts', play: true},
  {title: 'Training selects tokens', words: 'Now the tokens rest and attention is trained. p grows without end, and its direction tends to that of the largest margin. Drag a key until another token wins.', room: 'training', values: {}, target: '#plane'},
  {title: 'Which pairs have met', words: 'Many small systems at once: time against β. Click a point, and that flow opens.', room: 'phase', values: {}, target: '#phase-map'},
  {title: 'The bridge', words: 'The norm that training grows is the β of the flow through depth: longer training, sharper attention, more clusters that live.', room: 'bridge', values: {}, target: '.room.bridge .middle'},
];

export class Tour {
  readonly root = h('div', {class: 'tour', role: 'dialog', 'aria-label': 'Guided tour', hidden: true, id: 'tour'});
  private at = -1;
  constructor(private show: (stop: Stop) => Promise<void>) {}

  get open(): boolean {
    return this.at >= 0;
  }

  async go(index: number): Promise<void> {
    document.querySelectorAll('.framed').forEach(e => e.classList.remove('framed'));
    if (index < 0 || index >= stops.length) {
      this.at = -1;
      this.root.hidden = true;
      return;
    }
    this.at = index;
    const stop = stops[index];
    this.root.hidden = false;
    const next = h('button', {type: 'button', class: 'primary', id: 'tour-next', click: () => void this.go(index + 1)}, index + 1 < stops.length ? 'Next' : 'Done');
    replace(this.root, h('small', {}, `${index + 1} of ${stops.length}`), h('h2', {}, stop.title), h('p', {}, stop.words),
      h('div', {class: 'bar'}, index > 0 && h('button', {type: 'button', id: 'tour-back', click: () => void this.go(index - 1)}, 'Back'), next, h('button', {type: 'button', id: 'tour-end', click: () => void this.go(-1)}, 'Leave')));
    next.focus();
    await this.show(stop);
    if (this.at !== index) return;
    const target = document.querySelector(stop.target), framed = target?.closest('.control') ?? target;
    framed?.classList.add('framed');
    framed?.scrollIntoView({block: 'nearest'});
  }

  key(event: KeyboardEvent): boolean {
    if (!this.open) return false;
    if (event.key === 'Escape') void this.go(-1);
    else if (event.key === 'PageDown') void this.go(this.at + 1);
    else if (event.key === 'PageUp') void this.go(Math.max(0, this.at - 1));
    else return false;
    return true;
  }
}
