#include "attractor/lab/inspect/inspect_setup.hpp"

#include "attractor/base/error.hpp"

namespace attractor::lab {

ParameterList list(InspectSetup& p) {
  ParameterList l;
  l.group("Model and text");
  l.add("model", p.model, "a trained model: bert, albert, gpt2, llama, mistral, qwen2, qwen3")
      .first();
  l.add("text", p.text, "texts, one on each line");
  l.add("ids", p.ids, "lines of text are numbers of tokens");
  l.add("texts", p.texts, "how many lines are read; 0: all").within(0, 100000);
  l.add("length", p.length, "tokens of a text beyond this are left out").within(2, 8192);
  l.add("special", p.special, "also measure tokens that the tokenizer adds ([CLS], <s>)");
  l.add("write", p.write, "tokens the model writes after the first text, the likeliest each time")
      .within(0, 10000);
  l.group("Saved states");
  l.add("states", p.states, "layers x tokens x dimension, of any model; instead of model and text");
  l.add("attention", p.attention, "their attention logits, layers x heads x n x n");
  l.group("Switches");
  l.add("no-feed-forward", p.no_feed_forward, "without feed-forward blocks");
  l.add("no-attention", p.no_attention, "attention writes nothing");
  l.add("identity-values", p.identity_values,
        "values and outputs replaced by the identity, heads averaged");
  l.add("iterate", p.iterate, "this layer (from 0) again and again")
      .otherwise("none")
      .within(0, 1e5);
  l.add("depth", p.depth, "layers passed, round and round; 0: as many as the model has")
      .within(0, 100000);
  l.add("beta-scale", p.beta_scale, "factor of all logits").within(0, 1e6);
  l.add("mask", p.mask, "who sees whom");
  l.group("Measures");
  l.add("baseline", p.baseline, "sentences to compare with, one on each line; none: the texts");
  l.add("baseline-sentences", p.baseline_sentences, "how many of them are drawn").within(2, 10000);
  l.add("nulls", p.nulls, "models with shuffled weights, and with redrawn ones; 0: none")
      .within(0, 1000);
  l.add("null-texts", p.null_texts, "texts they are run on").within(1, 100000);
  l.add("cluster-cosine", p.cluster_cosine, "tokens with a larger cosine are linked")
      .between(-1, 1);
  l.add("exponents", p.exponents, "Lyapunov exponents along depth").within(0, 64);
  l.add("level", p.level, "of bands and intervals").between(0.5, 1);
  l.add("seed", p.seed, "seed of draws");
  l.group("Output");
  l.add("states-out", p.states_out, "states of the first text: layers + 1 x tokens x dimension")
      .allow(".npy")
      .written();
  l.add("attention-out", p.attention_out, "logits of the first text: layers x heads x n x n")
      .allow(".npy")
      .written();
  l.add("keys-out", p.keys_out, "keys of the first text: layers x heads of keys x n x d_head")
      .allow(".npy")
      .written();
  l.short_help({"model", "text", "texts", "length", "states", "attention", "no-feed-forward",
                "depth", "beta-scale", "baseline", "nulls", "seed"});
  return l;
}

void check(const InspectSetup& p) {
  if (p.states.given()) {
    if (p.model.given() || p.text.given())
      throw Error("states were given, and a model or text beside them; give one or the other");
    for (const bool used : {p.ids, p.no_feed_forward, p.no_attention, p.identity_values})
      if (used) throw Error("states were given: switches change a model, and there is none");
    if (p.iterate || p.depth > 0 || p.beta_scale != 1 || p.mask != models::MaskChange::as_trained)
      throw Error("states were given: switches change a model, and there is none");
    if (!p.states_out.empty() || !p.attention_out.empty() || !p.keys_out.empty() || p.write > 0)
      throw Error("states were given: there is no model that could write");
    return;
  }
  if (!p.model.given())
    throw Error(
        "the model is missing; name a folder with config.json, a file of weights, or states");
  if (!p.text.given()) throw Error("text is missing; name a file with a text on each line");
  if (p.attention.given()) throw Error("attention belongs to states, which are not given");
}

}  // namespace attractor::lab
