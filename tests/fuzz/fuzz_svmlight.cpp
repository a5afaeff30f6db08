// Any bytes give a sound data set or an error that names the file.
#include "fuzzing.hpp"
#include "margrove/svmlight_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {
    const Dataset data = parse_svmlight(testing::as_text(bytes, size), "f");
    check_csr(data.X);
    testing::check(data.X.num_rows() == data.labels.num_rows(), "every row has a label set");
    for (std::size_t i = 0; i < data.labels.num_rows(); ++i) {
      for (const LabelId label : data.labels[i]) {
        testing::check(label < data.codec.size(), "labels are those of the codec");
      }
    }
  });
  return 0;
}
