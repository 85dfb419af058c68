import {defineConfig} from 'vite';

// Static files with relative addresses: any folder of any host serves them. CORE is where the preset wasm has put the core.
const core = process.env.LAB_CORE ?? new URL('../build/wasm/lab', import.meta.url).pathname;

export default defineConfig({
  base: './',
  root: new URL('.', import.meta.url).pathname,
  resolve: {alias: {'@core': core, '@viewer': new URL('../attractor/drawing/viewer.js', import.meta.url).pathname}},
  worker: {format: 'es'},
  server: {fs: {allow: ['..', core]}},
  build: {
    outDir: process.env.LAB_OUT ?? new URL('../build/lab', import.meta.url).pathname,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: {polyfill: false},
    chunkSizeWarningLimit: 1000,
  },
});
