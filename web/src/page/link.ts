// The whole state of a room in the address: #room=depth&beta=40&… A hash is believed only if every name is known to its room, every number
// lies in its range and every word is one that is allowed; otherwise all of it is ignored, and a sentence says why.
export type Field =
  | {kind: 'number'; min: number; max: number; whole?: boolean; usual: number}
  | {kind: 'word'; words: readonly string[]; usual: string}
  | {kind: 'text'; pattern: RegExp; most: number; usual: string};
export type Fields = Record<string, Field>;
export type Values = Record<string, number | string>;

export const kLongest = 12000;  // of a hash: browsers and mail carry this

export const usualValues = (fields: Fields): Values => Object.fromEntries(Object.entries(fields).map(([name, f]) => [name, f.usual]));

export class LinkError extends Error {}

const read = (name: string, field: Field, text: string): number | string => {
  if (field.kind === 'word') {
    if (!field.words.includes(text)) throw new LinkError(`${name} is none of ${field.words.join(', ')}`);
    return text;
  }
  if (field.kind === 'text') {
    if (text.length > field.most || !field.pattern.test(text)) throw new LinkError(`${name} is not what the lab writes there`);
    return text;
  }
  if (!/^-?\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,3})?$/i.test(text)) throw new LinkError(`${name} is no number`);
  const value = Number(text);
  if (!(value >= field.min && value <= field.max)) throw new LinkError(`${name} is outside ${field.min} to ${field.max}`);
  if (field.whole && !Number.isInteger(value)) throw new LinkError(`${name} is no whole number`);
  return value;
};

/** Throws LinkError. */
export const parseHash = (hash: string, rooms: Record<string, Fields>): {room: string; values: Values} => {
  const text = hash.replace(/^#/, '');
  if (text.length > kLongest) throw new LinkError('it is too long');
  let room = '';
  const given = new Map<string, string>();
  for (const part of text.split('&')) {
    const at = part.indexOf('=');
    if (at < 1) throw new LinkError('a part of it is no name=value');
    let name = '', value = '';
    try {
      name = decodeURIComponent(part.slice(0, at));
      value = decodeURIComponent(part.slice(at + 1));
    } catch {
      throw new LinkError('it is not well encoded');
    }
    if (given.has(name)) throw new LinkError('a name stands in it twice');
    given.set(name, value);
  }
  room = given.get('room') ?? '';
  given.delete('room');
  if (!Object.hasOwn(rooms, room)) throw new LinkError('it names no room of the lab');
  const fields = rooms[room], values = usualValues(fields);
  for (const [name, value] of given) {
    if (!Object.hasOwn(fields, name)) throw new LinkError('it has a name that the room does not know');
    values[name] = read(name, fields[name], value);
  }
  return {room, values};
};

export const writeHash = (room: string, values: Values, fields: Fields): string => {
  const parts = [`room=${room}`];
  for (const [name, field] of Object.entries(fields))
    if (values[name] !== undefined && values[name] !== field.usual) parts.push(`${name}=${encodeURIComponent(String(values[name])).replace(/%2C/g, ',').replace(/%3B/g, ';').replace(/%3A/g, ':')}`);
  return '#' + parts.join('&');
};
