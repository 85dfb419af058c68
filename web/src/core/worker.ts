// The core in a worker of its own: one message in, one message out. It computes; the page only draws what it says.
// @ts-expect-error the module is made by the preset wasm
import makeCore from '@core/lab_core.mjs';
import wasm from '@core/lab_core.wasm?url';
import type {Answer, Question} from './messages';

interface Exports {
  HEAPF64: Float64Array;
  HEAPU32: Uint32Array;
  _malloc(bytes: number): number;
  _free(at: number): void;
  _lab_call(at: number): number;
  _lab_positions(): number;
  _lab_positions_size(): number;
  _lab_clusters(): number;
  _lab_clusters_size(): number;
  UTF8ToString(at: number): string;
  stringToUTF8(text: string, at: number, bytes: number): void;
  lengthBytesUTF8(text: string): number;
}

const ready: Promise<Exports> = (async () => {
  const binary = await (await fetch(wasm)).arrayBuffer();
  return await makeCore({wasmBinary: binary, locateFile: () => wasm});
})();

const ask = (core: Exports, request: unknown): {ok: boolean; value?: unknown; error?: string} => {
  const text = JSON.stringify(request), bytes = core.lengthBytesUTF8(text) + 1, at = core._malloc(bytes);
  core.stringToUTF8(text, at, bytes);
  const answer = core.UTF8ToString(core._lab_call(at));
  core._free(at);
  return JSON.parse(answer);
};

self.onmessage = async (event: MessageEvent<Question>) => {
  const {id, request, arrays} = event.data;
  try {
    const core = await ready;
    const begun = performance.now();
    const answer: Answer = {id, ...ask(core, request), milliseconds: 0};
    answer.milliseconds = performance.now() - begun;
    const transfer: Transferable[] = [];
    if (arrays && answer.ok) {
      const from = core._lab_positions() / 8, labels = core._lab_clusters() / 4;
      answer.positions = core.HEAPF64.slice(from, from + core._lab_positions_size());
      answer.clusters = core.HEAPU32.slice(labels, labels + core._lab_clusters_size());
      transfer.push(answer.positions.buffer, answer.clusters.buffer);
    }
    self.postMessage(answer, {transfer});
  } catch (error) {
    self.postMessage({id, ok: false, error: `the core has stopped: ${error instanceof Error ? error.message : error}`, milliseconds: 0, fatal: true});
  }
};
