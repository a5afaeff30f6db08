// Any bytes give label sets or an error that names the file.
#include "data/prediction_reader.hpp"
#include "fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    LabelCodec codec;
    const LabelSets sets = parse_predictions(testing::as_text(bytes, size), "f", codec);
    for (std::size_t i = 0; i < sets.num_rows(); ++i) {
      for (const LabelId label : sets[i]) testing::check(label < codec.size(), "labels are known");
    }
  });
  return 0;
}
