// libFuzzer: any bytes as a tokenizer.json, vocab.txt, tokenizer.bin or config.json: refused with
// an Error of one line, or a tokenizer whose tokens are all in its vocabulary.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/files/models/model_config.hpp"
#include "attractor/files/models/tokenizer_file.hpp"

namespace {

using namespace attractor;

void use(const models::Tokenizer& tokenizer, const std::string& text) {
  for (const std::string& part :
       {std::string("The caf\xc3\xa9's  1234\n\n\xff low!"), text.substr(0, 200)}) {
    const models::Encoded e = tokenizer.encode(part);
    if (e.ids.size() != e.pieces.size() || e.ids.size() != e.special.size()) std::abort();
    for (const std::uint32_t id : e.ids)
      if (id >= tokenizer.size()) std::abort();
    (void)tokenizer.decode(e.ids);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 4) {
      case 0:
        use(*parse_tokenizer_json(text, "fuzz"), text);
        break;
      case 1:
        use(*parse_vocabulary(text, "fuzz", data[0] > 127), text);
        break;
      case 2:
        use(*parse_llama2c_tokenizer(text, 8, "fuzz"), text);
        break;
      default:
        check(parse_model_config(text, "fuzz"), "fuzz");
    }
  } catch (const Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
