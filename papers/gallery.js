// @ts-check
// The filter of the gallery: words of a card, and its verdict.
const bar = /** @type {HTMLElement} */ (document.querySelector('.filter'));
const words = /** @type {HTMLInputElement} */ (bar.querySelector('input'));
const buttons = [...bar.querySelectorAll('button')];
const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.entry')]);
const nothing = /** @type {HTMLElement} */ (document.querySelector('.nothing'));
let state = '';
const show = () => {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const card of cards) {
    const text = (card.textContent ?? '').toLowerCase();
    card.hidden = (state !== '' && card.dataset.state !== state) || !wanted.every(word => text.includes(word));
  }
  nothing.hidden = cards.some(card => !card.hidden);
  for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.state === state));
};
for (const button of buttons) button.onclick = () => { state = button.dataset.state ?? ''; show(); };
words.oninput = show;
bar.hidden = cards.length < 2;
