// Any bytes give sound sentences or an error that names the file.
#include "fuzzing.hpp"
#include "outputs/tree/conllu_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    const auto corpus = parse_conllu(testing::as_text(bytes, size), "f");
    for (const auto& sentence : corpus.sentences) {
      const std::size_t n = sentence.num_words();
      testing::check(n > 0 && sentence.heads.size() == n && sentence.relations.size() == n,
                     "every word has a head and a relation");
      for (std::size_t word = 1; word <= n; ++word) {
        std::size_t at = word;
        for (std::size_t step = 0; step < n && at != 0; ++step) at = sentence.heads[at - 1];
        testing::check(at == 0, "every word is below the root");
      }
    }
  });
  return 0;
}
