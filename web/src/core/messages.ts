// What a page and a worker say to each other.
export interface Question {
  id: number;
  request: {call: string; [name: string]: unknown};
  arrays: boolean;
}
export interface Answer {
  id: number;
  ok: boolean;
  value?: unknown;
  error?: string;
  milliseconds: number;  // that the core took
  positions?: Float64Array;
  clusters?: Uint32Array;
  fatal?: boolean;
}

export type Word = number | string | boolean;
export type Settings = Record<string, Word>;

export interface Moment {
  time: number | null;
  log10_time: number | null;
  changed_at: number;
  steps: number;
  rejected: number;
  distinct: number;
  status: string;
}
export interface Facts {
  tokens: number;
  dim: number;
  engine: string;
  cluster_cosine: number;
  beta: number;
  changes: number;
  needs_tokens: boolean;
  command: string;
  moment: Moment;
}
export type Observation = Record<string, number | null>;
export interface NextMerge {
  log10_time: number;
  cosine: number;
  mass1: number;
  mass2: number;
}
export interface Look {
  observation: Observation;
  next_merge: NextMerge | null;
  tree?: [number, number, number, number | null][];
}
export interface Theory {
  predicted_clusters?: number;
  log10_growth_time?: number | null;
  critical_noise?: number | null;
  equiangular?: [number, number][];
}

export interface Token {
  x: number;
  y: number;
  score: number;
}
export interface Input {
  label: number;
  tokens: Token[];
}
export interface Margin {
  feasible: boolean;
  chosen: number[];
  margin: number | null;
  norm: number | null;
  lower: number | null;
  upper: number | null;
  gap: number | null;
  exact: boolean;
  locally_optimal: boolean;
  globally_optimal: boolean;
  solution: (number | null)[];
  support: [number, number][];
}
export interface TrainingMoment {
  log10_time: number | null;
  steps: number | null;
  loss: number | null;
  norm: number | null;
  cosine: number | null;
  margin: number | null;
  softmax_min: number | null;
  x: number | null;
  y: number | null;
}
export interface Trained {
  status: string;
  selected: number[];
  since: (number | null)[];
  softmax: number[];
  loss: number | null;
  softmax_min: number | null;
  cosine: number | null;
  velocity_cosine: number | null;
  at_minimum: boolean;
  steps: number;
  series: TrainingMoment[];
  command: string;
  svm?: Margin;
}
export interface BasinMap {
  side: number;
  radius: number;
  limits: Margin[];
  cells: [number, number, number][];
}
export interface Asked {
  headline: string;
  values: Record<string, number | string | null>;
  tables: Record<string, {columns: string[]; labels: string[]; rows: (number | null)[][]}>;
  remarks: string[];
  command: string;
  not_delivered: string;
}
