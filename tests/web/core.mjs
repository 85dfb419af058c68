// The core in node: the same module that the page's workers load.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';

/** ask(request) -> {ok, value | error}; positions() and clusters() of the live flow. */
export const loadCore = async folder => {
  globalThis.require ??= createRequire(import.meta.url);
  globalThis.__dirname ??= dirname(folder);
  const {default: make} = await import(join(folder, 'lab_core.mjs'));
  const core = await make({wasmBinary: readFileSync(join(folder, 'lab_core.wasm'))});
  const ask = request => {
    const text = JSON.stringify(request), bytes = core.lengthBytesUTF8(text) + 1, at = core._malloc(bytes);
    core.stringToUTF8(text, at, bytes);
    const answer = JSON.parse(core.UTF8ToString(core._lab_call(at)));
    core._free(at);
    return answer;
  };
  const positions = () => [...core.HEAPF64.subarray(core._lab_positions() / 8, core._lab_positions() / 8 + core._lab_positions_size())];
  const clusters = () => [...core.HEAPU32.subarray(core._lab_clusters() / 4, core._lab_clusters() / 4 + core._lab_clusters_size())];
  return {ask, positions, clusters};
};
