// What a room gives away: pictures as PNG and SVG, films as WebM, and the command that repeats a run natively.
import {h} from './dom';

export const save = (blob: Blob, name: string) => {
  const address = URL.createObjectURL(blob);
  const link = h('a', {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};

export const savePng = (canvas: HTMLCanvasElement, name: string): Promise<void> =>
  new Promise((resolve, reject) =>
    canvas.toBlob(blob => {
      if (!blob) return reject(new Error('the picture could not be made'));
      save(blob, name);
      resolve();
    }, 'image/png'));

/** Colours of the page's style stand in an SVG by name; alone it has none, so they are written out. */
export const svgText = (picture: SVGElement): string => {
  const copy = picture.cloneNode(true) as SVGElement;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const style = getComputedStyle(document.documentElement);
  return new XMLSerializer().serializeToString(copy).replace(/var\(--([a-z0-9-]+)\)/g, (_, name: string) => style.getPropertyValue(`--${name}`).trim() || '#888');
};

export const saveSvg = (picture: SVGElement, name: string) => save(new Blob([svgText(picture)], {type: 'image/svg+xml'}), name);

export const svgAsPng = async (picture: SVGElement, name: string): Promise<void> => {
  const box = picture.getBoundingClientRect(), scale = 2;
  const address = URL.createObjectURL(new Blob([svgText(picture)], {type: 'image/svg+xml'}));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = h('canvas', {width: Math.round(box.width * scale), height: Math.round(box.height * scale)});
    const context = canvas.getContext('2d');
    if (!context) throw new Error('the picture could not be made');
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--paper') || '#fff';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    await savePng(canvas, name);
  } finally {
    URL.revokeObjectURL(address);
  }
};

/** Records a canvas until stop() is called. */
export const record = (canvas: HTMLCanvasElement): {stop: () => Promise<Blob>} => {
  const recorder = new MediaRecorder(canvas.captureStream(30), {mimeType: 'video/webm'});
  const parts: Blob[] = [];
  recorder.ondataavailable = event => parts.push(event.data);
  recorder.start(250);
  return {
    stop: () =>
      new Promise(resolve => {
        recorder.onstop = () => resolve(new Blob(parts, {type: 'video/webm'}));
        recorder.stop();
      }),
  };
};

/** Rows of doubles as a .npy file, which flow reads by --tokens-file. */
export const npy = (data: Float64Array, columns: number): Blob => {
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${data.length / columns}, ${columns}), }`;
  const length = Math.ceil((10 + header.length + 1) / 64) * 64 - 10;
  const head = new Uint8Array(10 + length);
  head.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  head.set(new TextEncoder().encode(header.padEnd(length - 1) + '\n'), 10);
  return new Blob([head, data.slice().buffer], {type: 'application/octet-stream'});
};
