// What every room is to the page around it.
import type {Fields, Values} from '../page/link';

export interface Exported {
  name: string;
  words: string;
  run: () => Promise<void> | void;
}

export interface Room {
  readonly name: string;
  readonly title: string;
  readonly root: HTMLElement;
  readonly fields: Fields;
  /** Shows this state; what it cannot be is told by say(). */
  open(values: Values): Promise<void>;
  /** What a link says. */
  values(): Values;
  close(): void;
  recolour(): void;
  exports(): Exported[];
  /** What moves comes to rest, before it is exported. */
  settle?(): Promise<void>;
  /** The command that repeats what is shown, natively. */
  command(): string;
  key(event: KeyboardEvent): boolean;
}

export interface Page {
  say(words: string, kind?: 'note' | 'error'): void;
  /** The state has changed: the address follows. */
  changed(): void;
  go(room: string, values: Values): Promise<void>;
}
