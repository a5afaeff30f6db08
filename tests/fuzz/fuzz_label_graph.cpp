// Any bytes give pairs of different known labels or an error that names the file.
#include "data/label_graph_reader.hpp"
#include "fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    const LabelCodec codec({"a", "b", "c", "root"});
    for (const LabelPair& pair : parse_label_graph(testing::as_text(bytes, size), "f", codec)) {
      testing::check(
          pair.first != pair.second && pair.first < codec.size() && pair.second < codec.size(),
          "pairs are of different known labels");
    }
  });
  return 0;
}
