// A core as the page sees it: calls that come back. A core that has stopped is replaced by a new one.
import type {Answer, Question} from './messages';

export class CoreError extends Error {}

interface Waiting {
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}

export class Core {
  private worker: Worker;
  private next = 1;
  private waiting = new Map<number, Waiting>();

  constructor() {
    this.worker = this.begin();
  }

  private begin(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {type: 'module'});
    worker.onmessage = (event: MessageEvent<Answer>) => {
      const answer = event.data, waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if (answer.fatal) this.restart();
      if (answer.ok) waiting?.resolve(answer);
      else waiting?.reject(new CoreError(answer.error ?? 'the core gave no reason'));
    };
    worker.onerror = event => {
      event.preventDefault();
      this.restart();
    };
    return worker;
  }

  /** All that wait are told; what the core knew is lost. */
  restart(): void {
    this.worker.terminate();
    const all = [...this.waiting.values()];
    this.waiting.clear();
    this.worker = this.begin();
    for (const waiting of all) waiting.reject(new CoreError('the computation was ended'));
  }

  end(): void {
    this.worker.terminate();
    for (const waiting of this.waiting.values()) waiting.reject(new CoreError('the computation was ended'));
    this.waiting.clear();
  }

  get busy(): boolean {
    return this.waiting.size > 0;
  }

  ask(call: string, request: Record<string, unknown> = {}, arrays = false): Promise<Answer> {
    const question: Question = {id: this.next++, request: {call, ...request}, arrays};
    return new Promise((resolve, reject) => {
      this.waiting.set(question.id, {resolve, reject});
      this.worker.postMessage(question);
    });
  }

  async value<T>(call: string, request: Record<string, unknown> = {}): Promise<T> {
    return (await this.ask(call, request)).value as T;
  }
}
