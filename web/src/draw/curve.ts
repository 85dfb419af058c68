// Curves over the logarithm of time, by uPlot, with a cursor that is the time of the room.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import {colour, powerOfTen, rounded} from '../page/dom';

export interface CurveSeries {
  label: string;
  colour: string;  // a name of the style, or a colour
  dashed?: boolean;
  stepped?: boolean;
  width?: number;
}
interface Options {
  title: string;
  series: CurveSeries[];
  y?: {min?: number; max?: number; log?: boolean};
  x?: (value: number) => string;
  height?: number;
  seek?: (x: number) => void;
}

const paint = (name: string) => (name.startsWith('#') ? name : colour(name));

export class Curve {
  readonly root = document.createElement('figure');
  private plot: uPlot | null = null;
  private data: uPlot.AlignedData;
  private mark = NaN;
  private observer: ResizeObserver;

  constructor(private options: Options) {
    this.root.className = 'curve';
    const caption = document.createElement('figcaption');
    caption.append(options.title);
    for (const s of options.series) {
      const key = document.createElement('span');
      key.className = 'key';
      key.style.setProperty('--key', s.colour.startsWith('#') ? s.colour : `var(--${s.colour})`);
      key.style.borderTopStyle = s.dashed ? 'dashed' : 'solid';
      key.textContent = s.label;
      caption.append(key);
    }
    this.root.append(caption);
    this.data = [[], ...options.series.map(() => [])] as uPlot.AlignedData;
    this.observer = new ResizeObserver(() => {
      if (!this.plot) this.make();
      else this.plot.setSize({width: Math.max(120, this.root.clientWidth), height: options.height ?? 120});
    });
    this.observer.observe(this.root);
  }

  private make() {
    const o = this.options, ink = colour('ink-soft'), line = colour('line');
    const axis = {stroke: ink, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1}, font: '11px system-ui, sans-serif'};
    this.plot?.destroy();
    this.plot = new uPlot(
      {
        width: Math.max(120, this.root.clientWidth),
        height: o.height ?? 120,
        legend: {show: false},
        cursor: {drag: {x: false, y: false}, points: {size: 6}},
        padding: [8, 18, 0, 0],
        scales: {
          x: {time: false},
          y: o.y?.log ? {distr: 3} : {range: (_u, low, high) => [o.y?.min ?? low, o.y?.max ?? (high > low ? high : low + 1)]},
        },
        axes: [
          {...axis, size: 26, values: (_u, ticks) => ticks.map(t => (o.x ? o.x(t) : Number.isInteger(t) ? powerOfTen(t, 0).replace('1·', '') : ''))},
          {...axis, size: 52, values: (_u, ticks) => ticks.map(t => (t === null ? '' : rounded(t, 3)))},
        ],
        series: [
          {},
          ...o.series.map(s => ({
            label: s.label,
            stroke: paint(s.colour),
            width: s.width ?? 1.8,
            dash: s.dashed ? [6, 4] : undefined,
            paths: s.stepped ? uPlot.paths.stepped!({align: 1}) : undefined,
            points: {show: false},
            spanGaps: true,
          })),
        ],
        hooks: {
          draw: [
            u => {
              if (!Number.isFinite(this.mark)) return;
              const x = Math.round(u.valToPos(this.mark, 'x', true));
              if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
              u.ctx.save();
              u.ctx.strokeStyle = colour('accent');
              u.ctx.lineWidth = 1.5 * devicePixelRatio;
              u.ctx.beginPath();
              u.ctx.moveTo(x, u.bbox.top);
              u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
              u.ctx.stroke();
              u.ctx.restore();
            },
          ],
          ready: [
            u => {
              u.over.addEventListener('click', event => o.seek?.(u.posToVal((event as MouseEvent).offsetX, 'x')));
            },
          ],
        },
      },
      this.data,
      this.root,
    );
  }

  set(data: (number | null)[][]) {
    this.data = data as unknown as uPlot.AlignedData;
    this.plot?.setData(this.data);
  }

  at(x: number) {
    if (this.mark === x) return;
    this.mark = x;
    this.plot?.redraw(false, false);
  }

  recolour() {
    if (this.plot) this.make();
  }

  canvas(): HTMLCanvasElement | null {
    return this.root.querySelector('canvas');
  }

  dispose() {
    this.observer.disconnect();
    this.plot?.destroy();
  }
}
