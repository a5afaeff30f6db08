// Any bytes give sound sentences or an error that names the file.
#include "fuzzing.hpp"
#include "outputs/chain/column_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    const auto corpus = parse_columns(testing::as_text(bytes, size), "f");
    for (std::size_t s = 0; s < corpus.sentences.size(); ++s) {
      const auto& sentence = corpus.sentences[s];
      testing::check(sentence.cells.size() == sentence.tags.size() * corpus.num_columns,
                     "every token has all columns");
      testing::check(!sentence.tags.empty(), "no sentence is empty");
    }
  });
  return 0;
}
