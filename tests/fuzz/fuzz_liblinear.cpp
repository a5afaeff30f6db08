// Any bytes give a model that can be used or an error that names the file.
#include "fuzzing_models.hpp"
#include "io/liblinear_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  testing::expect_result_or_named_error([&] {  // InvalidInput: damaged compression
    testing::expect_model_or_named_error(
        [&] { return parse_liblinear(testing::as_text(bytes, size), "f"); });
  });
  return 0;
}
